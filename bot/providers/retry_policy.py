"""Retrying and waiting for models: every number.

``fallback.py`` makes the attempts; ``shared/streaming.py`` applies the time limits of one.
"""

from __future__ import annotations

# Attempts, for one request of the agent.
# So many attempts are made over all models, the first one included.
ATTEMPTS = 4
# A model with fallbacks left gets so many attempts: one failure may pass, a second one is an
# outage.
ATTEMPTS_PER_MODEL = 2
# An unreadable answer is asked for again so often: models sample, so the next answer may be well
# formed.
MALFORMED_REPEATS = 1

# Seconds until an answer.
# The first event comes within this time, with all attempts, waits and fallbacks: as long as people
# wait.
FIRST_TOKEN_TIMEOUT_S = 20.0
# Each MiB of recordings and PDFs adds so much: to be sent, and to be looked at.
FIRST_TOKEN_PER_MIB_S = 1.0
# A model with fallbacks left gets this share of the remaining seconds.
FIRST_TOKEN_SHARE = 0.7
# The last event of one answer comes within this time: LINE's reply token lives about as long.
REQUEST_TIMEOUT_S = 60.0
# Bytes after the last event are awaited so long: only a connection read to its end is used again.
LAST_BYTES_TIMEOUT_S = 0.1
# Loading a model may take so long, as in Ollama itself (OLLAMA_LOAD_TIMEOUT).
MODEL_LOAD_TIMEOUT_S = 300.0

# Seconds between two attempts at the same model: base, doubled with each, and a random part of that
# ("full jitter", https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
BACKOFF_BASE_S = 0.5
# This bounds also a wait that a vendor asks for, by Retry-After or by Google's RetryInfo.
LONGEST_WAIT_S = 10.0

# A model that keeps failing gets no requests for a while.
# So many failures in a row open the breaker.
BREAKER_FAILURES = 3
# This is half of the longest wait for the first answer after an outage.
BREAKER_OPEN_S = 10.0

# Connections.
# TCP and TLS may take so long, within the seconds to the first event.
CONNECT_TIMEOUT_S = 10.0
