"""Talk HTTP to where it is allowed: httpx and httpcore are imported here, and a request has a guard at its socket."""
