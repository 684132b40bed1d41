import { Badge } from "@cloudflare/kumo/components/badge";
import { Input } from "@cloudflare/kumo/components/input";
import { useState } from "react";
import { PROVIDER_SLUGS } from "../../../src/gateways/providers/addresses.ts";
import type { ProviderKeyInfo } from "../../../src/gateways/providers/provider-keys.ts";
import { DEFAULT_ALIAS } from "../../../src/providers/provider-key.ts";
import { useLoad } from "../api/use-load.ts";
import type { Column } from "../parts/data-table.tsx";
import { instant, integer } from "../parts/format.ts";
import { NameField } from "../parts/name-field.tsx";
import { SaveForm } from "../parts/save-form.tsx";
import { useSession } from "../session/session.ts";
import { ManagedRows } from "./managed-rows.tsx";
import { windowText } from "./rules.ts";

/** The keys of providers that a gateway stores. `path`: of the keys. */
export function ProviderKeys({ path }: { path: string }) {
	const { api } = useSession();
	const keys = useLoad(
		async (signal) => (await api.get<ProviderKeyInfo[]>(path, {}, signal)).result,
		[api, path],
	);
	const columns: Column<ProviderKeyInfo>[] = [
		{ title: "Provider", cell: ({ provider_slug }) => provider_slug },
		{
			title: "Alias",
			cell: (key) => (
				<>
					{key.alias}{" "}
					{isUsedWithoutAlias(key, keys.value ?? []) && <Badge variant="info">used without an alias</Badge>}
				</>
			),
		},
		...COLUMNS,
	];
	return (
		<ManagedRows<ProviderKeyInfo>
			isFixed
			title="Keys of providers"
			label="Keys"
			noun="key"
			path={path}
			rows={keys}
			columns={columns}
			idOf={({ id }) => id}
			nameOf={nameOf}
			empty="No keys. With a stored key, callers of a provider need only a token of this gateway."
			deletion="Requests that use it are refused within five seconds, unless they bring their own key."
			form={({ onSaved, onCancel }) => <NewKeyForm path={path} onSaved={onSaved} onCancel={onCancel} />}
		/>
	);
}

interface FormProps {
	path: string;
	onSaved(notes: readonly string[]): void;
	onCancel(): void;
}

function NewKeyForm({ path, onSaved, onCancel }: FormProps) {
	const { api, session } = useSession();
	const [provider, setProvider] = useState("");
	const [alias, setAlias] = useState("");
	const [secret, setSecret] = useState("");
	async function send(): Promise<void> {
		const key = { provider_slug: provider.trim(), alias: alias.trim() || DEFAULT_ALIAS };
		// A password manager may fill it in, and the next request would send it to the provider.
		if (secret.trim() === session.token) throw new Error("Key: this is the token of this session");
		const { result: keys } = await api.get<ProviderKeyInfo[]>(path);
		const replaced = keys.find((stored) => nameOf(stored) === nameOf(key));
		const { notes } = await api.change("POST", path, {
			...(replaced && {
				default_config: replaced.default_config,
				rate_limit: replaced.rate_limit,
				rate_limit_period: replaced.rate_limit_period,
			}),
			...key,
			secret: secret.trim(),
		});
		onSaved(notes);
	}
	return (
		<SaveForm title="New key" button="Store" onSend={send} onCancel={onCancel}>
			<div className="filters">
				<NameField
					label="Provider"
					placeholder="openai, or custom-…"
					required
					names={PROVIDER_SLUGS}
					value={provider}
					onChange={setProvider}
				/>
				<Input
					label="Alias"
					placeholder={DEFAULT_ALIAS}
					maxLength={64}
					autoComplete="off"
					value={alias}
					onChange={(event) => setAlias(event.target.value)}
				/>
				<Input
					label="Key"
					type="password"
					name="provider-key"
					autoComplete="new-password"
					required
					value={secret}
					onChange={(event) => setSecret(event.target.value)}
				/>
			</div>
			<p className="subtle">
				It replaces the key with the same provider and alias, and keeps its limit. It is not shown again.
			</p>
		</SaveForm>
	);
}

const nameOf = ({ provider_slug, alias }: Pick<ProviderKeyInfo, "provider_slug" | "alias">): string =>
	`${provider_slug}/${alias}`;

/** Of several keys of a provider, a request without an alias uses the one with the alias `default`, or else the one with `default_config`. */
const isUsedWithoutAlias = (key: ProviderKeyInfo, keys: readonly ProviderKeyInfo[]): boolean =>
	key.alias === DEFAULT_ALIAS ||
	(key.default_config &&
		!keys.some(({ provider_slug, alias }) => provider_slug === key.provider_slug && alias === DEFAULT_ALIAS));

const COLUMNS: readonly Column<ProviderKeyInfo>[] = [
	{ title: "Key", cell: ({ secret_preview }) => <code>{secret_preview}</code> },
	{
		title: "Limit",
		cell: ({ rate_limit, rate_limit_period: period }) => {
			if (rate_limit === 0) return "none";
			const window = typeof period === "number" ? windowText(period) : `each ${period ?? "minute"}`;
			return `${integer(rate_limit)} requests ${window}`;
		},
	},
	{ title: "Changed", cell: ({ modified_at }) => instant(modified_at) },
];
