"""Compile a translated tree with AMD's compiler: plan, queue, content-hash cache, resources per kernel, mapped errors.

    plan = make_plan(find_units(Tree.read(root), settings), sdk, targets=("gfx942",))
    report = run_plan(plan, ...)

Every step is data in, data out; only `queue` starts processes and only `cache` and `outputs` write files.
"""
