"""The rehearsal model: an OpenAI-compatible server made of rules, for running Parley without a language model."""
