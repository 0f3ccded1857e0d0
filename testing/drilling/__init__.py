"""The drill: an agent's own tools and its own recovery, run under every fault at every step.

Files, each using only those before it: record, cells · planted, outside, folders · world · storing,
bodies, asked · stubs, plain_stubs, standing_in, watching · ending, rehearsal · promises, judging,
untested, report · apart, drill.

``record`` what is seen · ``cells`` which faults at which steps (pure) · ``planted`` secrets, and where they
turn up · ``world`` what one run meets · ``bodies``, ``asked`` the agent's tools and models, watched ·
``stubs`` what a user gives, ``standing_in`` what then runs, ``watching`` the agents of a run ·
``rehearsal`` one run, with its deaths · ``apart`` runs in processes of their own · ``promises`` what is
promised, ``judging`` what a run has broken of it (pure) · ``untested`` what no run could tell (pure) ·
``report`` · ``drill``.
"""
