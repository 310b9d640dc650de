"""Rules of the compatible APIs: blackboard, job manager and Zeebe."""
