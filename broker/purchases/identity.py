"""What tells one plan from another: the hash of all that it says."""

import hashlib
import json

from broker.domain.plan import Plan


def plan_hash(plan: Plan) -> str:
    """Hash the content of a plan (SHA-256): equal plans, equal hash, however they are written.

    What a plan leaves at its default is not hashed, so that a later version, which knows more
    fields, gives an old plan its old hash.
    """
    fields = json.loads(plan.model_dump_json(by_alias=True, exclude_defaults=True))
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
