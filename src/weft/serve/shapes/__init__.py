"""The JSON of requests and answers, as OpenAPI describes it; answers are those of the commands' ``--json``."""
