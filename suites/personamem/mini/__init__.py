"""Embedded edition of PersonaMem: personas whose preferences change from chat to chat, and questions in between."""
