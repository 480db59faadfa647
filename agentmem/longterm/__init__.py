"""Long-term memory: conversations (L0), atoms (L1), scenes (L2), a persona (L3), and what decides when each is made."""
