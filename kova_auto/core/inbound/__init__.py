"""Requests from outside that start jobs: believed or not, and what of them a run is given."""
