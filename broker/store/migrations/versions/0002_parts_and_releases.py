"""Parts that a run could not read, and what a person released from quarantine."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "refresh_run", sa.Column("kept", sa.Integer(), nullable=False, server_default="0")
    )
    op.add_column("refresh_run", sa.Column("missing", sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "quarantine_release",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("offer_key", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("released_by", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("valid_from", sa.DateTime(), nullable=False),
        sa.Column("valid_to", sa.DateTime(), nullable=True),
    )
    op.create_index("ix_release_open", "quarantine_release", ["provider", "valid_to"])
    op.create_index("ix_quarantine_key", "quarantine", ["provider", "offer_key"])


def downgrade() -> None:
    op.drop_index("ix_quarantine_key", "quarantine")
    op.drop_table("quarantine_release")
    with op.batch_alter_table("refresh_run") as table:
        table.drop_column("missing")
        table.drop_column("kept")
