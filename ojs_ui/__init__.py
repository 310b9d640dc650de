"""The dashboard: pages for a browser that speak nothing but the public API.

The job server serves them at `/ui/`; `python -m ojs_ui` serves them before any other server of
Open Job Spec.
"""
