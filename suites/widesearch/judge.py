"""x"""
import json,re
def last_json_block(t):
    m=re.findall(r"```json\s*(\{.*?\})\s*```",t,re.DOTALL)
    if not m: return None
    try: return json.loads(m[-1])
    except ValueError: return None
