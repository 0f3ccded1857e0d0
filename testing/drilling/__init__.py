"""The drill: an agent's own tools and its own recovery, run under every fault at every step.

``record`` what is seen · ``cells`` which faults at which steps (pure) · ``planted`` secrets, and where they
turn up · ``world`` what one run meets · ``bodies``, ``asked`` the agent's tools and models, watched ·
``standing_in`` stubs · ``rehearsal`` one run, with its deaths · ``apart`` runs in processes of their own ·
``promises`` what a run has broken (pure) · ``untested`` what no run could tell (pure) · ``report`` · ``drill``.
"""
