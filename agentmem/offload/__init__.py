"""Short-term memory: evidence, summaries, task boundaries, canvas, compression, drill-down.

evidence, index, entries, lock      what is on disk: results, the journal of their index, one process a session
shapes, ranking, extractive         the summaries without a model; llm_summaries, flush: with one, in batches
boundaries, judges                  where a task ends
canvas*, intents, mapping           the map of a task and what stands behind its nodes
decisions, groups, prompt           what the prompt shows of each message, and what must go together
mild, deletion, injection           the stages; canvases in the prompt
session (rules, compressor)         all of it over one conversation
drilldown, tracing, retention       reading back, looking on, cleaning up
shortterm (shorten, history, ...)   the policy of our own that is the default
reference                           upstream's decisions, for parity
"""
