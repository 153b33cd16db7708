"""What was told to whom, and what waits to be told."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alert",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.DateTime(), nullable=False),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.Column("mended_at", sa.DateTime(), nullable=True),
    )
    op.create_index("ix_alert_open", "alert", ["mended_at"])
    op.create_table(
        "alert_told",
        sa.Column("alert_id", sa.Integer(), sa.ForeignKey("alert.id"), primary_key=True),
        sa.Column("sink", sa.String(), primary_key=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("told_at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "alert_outbox",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("sink", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False, unique=True),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("claimed_by", sa.String(), nullable=False),
        sa.Column("claimed_at", sa.DateTime(), nullable=True),
        sa.Column("delivered_at", sa.DateTime(), nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(), nullable=True),
    )
    op.create_index("ix_alert_outbox_waiting", "alert_outbox", ["sink", "delivered_at"])


def downgrade() -> None:
    for table in ("alert_outbox", "alert_told", "alert"):
        op.drop_table(table)
