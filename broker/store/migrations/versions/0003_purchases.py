"""Plans, their states, the audit log, and the lines that were executed."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "kept_plan",
        sa.Column("hash", sa.String(), primary_key=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("total_micro_usd", sa.BigInteger(), nullable=False),
        sa.Column("snapshot", sa.String(), nullable=False),
        sa.Column("workloads_sha256", sa.String(), nullable=False),
        sa.Column("kept_at", sa.DateTime(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
    )
    op.create_table(
        "plan_name",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("workloads_name", sa.String(), nullable=False),
        sa.Column("plan_hash", sa.String(), sa.ForeignKey("kept_plan.hash"), nullable=False),
        sa.UniqueConstraint("workloads_name", "plan_hash", name="uq_plan_name"),
    )
    _create_approvals_and_lines()
    op.create_table(
        "audit_entry",
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("plan_hash", sa.String(), nullable=False),
        sa.Column("line", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("previous_sha256", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
    )


def downgrade() -> None:
    for table in ("audit_entry", "executed_line", "plan_approval", "plan_name", "kept_plan"):
        op.drop_table(table)


def _create_approvals_and_lines() -> None:
    op.create_table(
        "plan_approval",
        sa.Column("plan_hash", sa.String(), sa.ForeignKey("kept_plan.hash"), primary_key=True),
        sa.Column("person", sa.String(), primary_key=True),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "executed_line",
        sa.Column("plan_hash", sa.String(), sa.ForeignKey("kept_plan.hash"), primary_key=True),
        sa.Column("line", sa.String(), primary_key=True),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("reference", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
    )
