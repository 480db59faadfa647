"""Statistics of a paired comparison, one idea a module. Numbers in, frozen records out; no files, no clocks.

| module | question it answers |
|---|---|
| `rates` | how sure is one pass rate, or two rates of independent arms |
| `paired` | did the same tasks do better in the other arm |
| `permutation` | the same for fractional scores |
| `ratios` | how many tokens does the treatment use for each token of the baseline |
| `clusters` | how much wider is the error when tasks share a session |
| `bootstrap` | the resampling every interval above uses |
| `attempts` | pass@k and pass^k when a task was tried more than once |
| `multiple` | several suites claimed together |
| `power` | what difference could this design have found |
| `published` | what do printed percentages allow to conclude |

Undefined figures are `None`, never NaN. Formulas and sources: docs/statistics.md.
"""
