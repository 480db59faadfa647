"""The groups of the configuration, one file a subsystem; ``agentmem.config.Config`` joins them."""
