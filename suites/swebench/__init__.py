"""SWE-bench: a repository and an issue in, a patch out, graded by the hidden tests of the fix."""
