"""Single cases as they are played: connections, stages, and steps of published cases."""
