"""Messages as hosts and providers write them, read into ``Message`` and written back in the form they came in.

messages = read(raws)              # OpenAI, Anthropic, transcript, toolResult: told apart message by message
raws == write(messages)            # an unchanged message is the very object the host gave
write(messages, Form.ANTHROPIC)    # new messages in a named form
"""

from agentmem.wire.forms import Form, form_of
from agentmem.wire.reading import read, read_one
from agentmem.wire.writing import write

__all__ = ["Form", "form_of", "read", "read_one", "write"]
