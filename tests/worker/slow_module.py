"""A program that takes a while to load."""

import time

from ojs_worker import Worker

print("loading", flush=True)
time.sleep(1)
worker = Worker()
