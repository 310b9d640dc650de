"""Calls of the compatible APIs: blackboard, job manager, Zeebe and Camunda."""
