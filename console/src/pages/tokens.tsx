import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { useRef, useState } from "react";
import { errorOf } from "../api/error-of.ts";
import type { NewToken, Token } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { decimal, instant } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { useSession } from "../session/session.ts";
import { TokenForm } from "../tokens/form.tsx";
import { NewValue } from "../tokens/new-value.tsx";

type Shown = { kind: "form"; token?: Token } | { kind: "value"; name: string; value: string };
type Action = "roll" | "delete";

export default function Tokens() {
	const { api } = useSession();
	const [shown, setShown] = useState<Shown>();
	const [confirming, setConfirming] = useState<{ action: Action; token: Token }>();
	const [error, setError] = useState<Error>();
	const newToken = useRef<HTMLButtonElement>(null);
	const path = api.account("/tokens");
	const [page, setPage] = useState(1);
	const tokens = useLoad(
		(signal) =>
			api.get<Token[]>(path, { page, per_page: PER_PAGE, direction: "desc", include_expired: true }, signal),
		[api, page],
	);
	/** Another client may have changed the token since the list was loaded. */
	async function edit({ id }: Token): Promise<void> {
		setError(undefined);
		try {
			setShown({ kind: "form", token: (await api.get<Token>(`${path}/${id}`)).result });
		} catch (failure) {
			setError(errorOf(failure));
		}
	}

	async function run({ action, token }: { action: Action; token: Token }): Promise<void> {
		setConfirming(undefined);
		setError(undefined);
		try {
			if (action === "delete") {
				await api.send("DELETE", `${path}/${token.id}`);
				setShown((open) => (open?.kind === "form" && open.token?.id === token.id ? undefined : open));
				// The row of the token disappears with its button.
				newToken.current?.focus();
			} else {
				const value = await api.send<string>("PUT", `${path}/${token.id}/value`, {});
				setShown({ kind: "value", name: token.name, value });
			}
			tokens.reload();
		} catch (failure) {
			setError(errorOf(failure));
		}
	}

	const saved = (token: Token | NewToken): void => {
		if ("value" in token) setPage(1);
		setShown("value" in token ? { kind: "value", name: token.name, value: token.value } : undefined);
		tokens.reload();
	};

	const columns: Column<Token>[] = [
		...COLUMNS,
		{
			title: "Actions",
			cell: (token) => (
				<div className="buttons">
					<Button size="sm" aria-label={`Edit ${token.name}`} onClick={() => void edit(token)}>
						Edit
					</Button>
					<Button
						size="sm"
						aria-label={`Roll ${token.name}`}
						onClick={() => setConfirming({ action: "roll", token })}
					>
						Roll
					</Button>
					<Button
						size="sm"
						variant="secondary-destructive"
						aria-label={`Revoke ${token.name}`}
						onClick={() => setConfirming({ action: "delete", token })}
					>
						Revoke
					</Button>
				</div>
			),
		},
	];

	return (
		<Page
			title="Tokens"
			actions={
				<Button ref={newToken} variant="primary" onClick={() => setShown({ kind: "form" })}>
					New token
				</Button>
			}
		>
			{error && <Failure error={error} />}
			{shown?.kind === "form" && (
				<InView key={shown.token?.id ?? "new"}>
					<TokenForm token={shown.token} onSaved={saved} onCancel={() => setShown(undefined)} />
				</InView>
			)}
			{shown?.kind === "value" && (
				<InView key={shown.value}>
					<NewValue name={shown.name} value={shown.value} onClose={() => setShown(undefined)} />
				</InView>
			)}
			{confirming && (
				<Confirm
					title={`${confirming.action === "roll" ? "Roll" : "Revoke"} ${confirming.token.name}?`}
					text={
						confirming.action === "roll"
							? "The token gets a new value. Clients with the present value are refused within one second."
							: "Clients with this token are refused within one second. This cannot be undone."
					}
					button={confirming.action === "roll" ? "Roll" : "Revoke"}
					onConfirm={() => void run(confirming)}
					onCancel={() => setConfirming(undefined)}
				/>
			)}
			<Loading of={tokens}>
				{({ result, info }) => (
					<>
						<DataTable
							framed
							label="Tokens"
							columns={columns}
							rows={result}
							rowKey={({ id }) => id}
							empty={page > 1 ? "No older tokens." : NO_TOKENS}
						/>
						<Pager page={page} hasOlder={page * PER_PAGE < (info.total_count ?? 0)} onPage={setPage} />
					</>
				)}
			</Loading>
		</Page>
	);
}

const PER_PAGE = 50;
const NO_TOKENS =
	"This account has no tokens. A token lets a client call the gateway, with the rights and the budget that you choose.";
const VARIANTS = { active: "success", disabled: "warning", expired: "error" } as const;

const COLUMNS: readonly Column<Token>[] = [
	{ title: "Name", cell: ({ name }) => <strong>{name}</strong> },
	{ title: "Status", cell: ({ status }) => <Badge variant={VARIANTS[status]}>{status}</Badge> },
	{
		title: "Permissions",
		cell: ({ policies }) =>
			policies
				.map(
					({ effect, permission_groups }) =>
						(effect === "deny" ? "not " : "") + permission_groups.map(({ name }) => name).join(", "),
				)
				.join("; "),
	},
	{
		title: "Limits",
		cell: ({ limits = {} }) =>
			[
				limits.daily_neurons !== undefined && `${decimal(limits.daily_neurons)} neurons a day`,
				limits.monthly_neurons !== undefined && `${decimal(limits.monthly_neurons)} neurons a month`,
				limits.requests_per_minute !== undefined && `${limits.requests_per_minute} requests a minute`,
			]
				.filter(Boolean)
				.join(", ") || <span className="subtle">none</span>,
	},
	{ title: "Last used", cell: ({ last_used_on }) => (last_used_on ? instant(last_used_on) : "never") },
	{ title: "Expires", cell: ({ expires_on }) => (expires_on ? instant(expires_on) : "never") },
];
