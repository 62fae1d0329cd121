"""One address for a team: the three tools and their pages over HTTP.

A request comes through the guard (:mod:`weft.serve.guard`: who may, how much, how fast) to a route
(:mod:`weft.serve.routes`); what takes the processor is a task (:mod:`weft.serve.tasks`) in a worker process of
:mod:`weft.platform.processes.crew`, and what takes long is a job (:mod:`weft.serve.jobs`), which survives a restart.
"""
