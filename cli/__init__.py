"""The command line and the demo.

Decides how sessions are shown and what a word typed by a person means; owns the terminal, the
signal handlers of its process and the exit status. It never changes a session but through a
runtime or a decision given to the store, and reading commands claim nothing.

Files, each using only those before it: terminal, undone, errors, owners, import_failure, placing ·
output, loading, stored · answers · rollback_words, staged_words · journal, steps, stepping, tree,
listing, effects, staged, handovers, resolve, approvals · begun_under, left, event_words, progress · driven,
following, driving, rollback, gc, export, reading · demo_project_copy, demo_service · demo_agents ·
demo_faults, demo_errands, demo_watched · demo_failures, demo_effects, demo_stops, demo_person,
demo_worker · demo_checks · demo, demo_record · classify, explain, policy, explain_danger,
explain_recorded · sweeping, svg, simulate_words, simulate_plots, simulate, policy_requests · parser,
typed · policy_arguments, approval_arguments, drill_arguments, session_arguments, file_arguments,
arguments · drill_named, drill_words, drill · commands, app.

``demo_project`` is the project the demo repairs.
"""
