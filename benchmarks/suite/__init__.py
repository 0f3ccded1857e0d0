"""The suite of issue 8: six workloads, Ukemi beside the limits and the peers.

    python -m benchmarks suite [--only b1,b3] [--rounds N] [--quick | --full] [--no-peers] [--json FILE]
    python -m benchmarks report FILE

Files: work (what is measured alike in every contender) · kill (B4's driver) · ours, limits (cells of
ours and of the limits; the peers' are in ``benchmarks.peers``) · plan (which cells) · run · figures
(medians and ratios) · verdict · tables · plot · report. `work` and `kill` need Python alone, since
they run in the peers' environment too.
"""
