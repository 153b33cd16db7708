"""The service that joins the stages: the only way in for commands and jobs."""
