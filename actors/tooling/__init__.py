"""Tools as the user declares them: marks, schema, arguments, bodies and what they return.

Files, each using only those before it: docstring · marks, arguments, schema, context, threads,
bodies, companions · tools, toolbox, results.
"""
