"""PersonaMem (v1): one of four options, chosen by what a persona said and changed over many sessions."""
