import { Checkbox } from "@cloudflare/kumo/components/checkbox";
import { Input } from "@cloudflare/kumo/components/input";
import { Switch } from "@cloudflare/kumo/components/switch";
import { useState } from "react";
import type { NewToken, PermissionGroup, Token, TokenLimits } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Loading } from "../parts/loading.tsx";
import { SaveForm } from "../parts/save-form.tsx";
import { useSession } from "../session/session.ts";

interface Props {
	/** Absent: a new token. */
	token: Token | undefined;
	onSaved(token: Token | NewToken): void;
	onCancel(): void;
}

const DEFAULT_GROUP = "Workers AI Read";
const LIMITS: readonly (readonly [field: keyof TokenLimits, label: string])[] = [
	["daily_neurons", "Neurons per day"],
	["monthly_neurons", "Neurons per month"],
	["requests_per_minute", "Requests per minute"],
];

export function TokenForm({ token, onSaved, onCancel }: Props) {
	const { api } = useSession();
	const [name, setName] = useState(token?.name ?? "");
	const [groups, setGroups] = useState<readonly string[]>(() => groupsOf(token));
	const [expires, setExpires] = useState(dayOf(token?.expires_on));
	const [limits, setLimits] = useState<TokenLimits>(token?.limits ?? {});
	const [enabled, setEnabled] = useState(token?.status !== "disabled");
	const path = api.account("/tokens");
	const available = useLoad(
		async (signal) => (await api.get<PermissionGroup[]>(`${path}/permission_groups`, {}, signal)).result,
		[api],
	);

	async function send(): Promise<void> {
		const isSameDay = expires === dayOf(token?.expires_on);
		const expiry = isSameDay ? token?.expires_on : `${expires}T00:00:00Z`;
		const body = {
			// Keeps fields that the form does not show, such as `not_before`.
			...token,
			name,
			policies: [
				{
					effect: "allow",
					permission_groups: groups.map((group) => ({ name: group })),
					resources: { [`com.cloudflare.api.account.${api.credentials.account}`]: "*" },
				},
				// A form cannot show a denial, so it keeps those that exist.
				...(token?.policies.filter(({ effect }) => effect === "deny") ?? []),
			],
			limits: Object.keys(limits).length > 0 ? limits : null,
			status: enabled ? "active" : "disabled",
			expires_on: expires === "" ? null : expiry,
		};
		onSaved(
			token
				? await api.send<Token>("PUT", `${path}/${token.id}`, body)
				: await api.send<NewToken>("POST", path, body),
		);
	}

	return (
		<SaveForm
			title={token ? `Edit ${token.name}` : "New token"}
			button={token ? "Save" : "Create"}
			isReady={groups.length > 0}
			onSend={send}
			onCancel={onCancel}
		>
			<Input
				label="Name"
				required
				maxLength={120}
				value={name}
				onChange={(event) => setName(event.target.value)}
			/>
			<fieldset className="permissions">
				<legend>Permissions</legend>
				<Loading of={available}>
					{(all) =>
						all.map((group) => (
							<Checkbox
								key={group.id}
								label={group.name}
								disabled={!group.is_selectable}
								checked={groups.includes(group.name)}
								onCheckedChange={(checked) =>
									setGroups((before) =>
										checked ? [...before, group.name] : before.filter((other) => other !== group.name),
									)
								}
							/>
						))
					}
				</Loading>
			</fieldset>
			<div className="filters">
				{LIMITS.map(([field, label]) => (
					<Input
						key={field}
						label={label}
						type="number"
						min={0}
						placeholder="No limit"
						value={limits[field] ?? ""}
						onChange={(event) => setLimits((before) => withLimit(before, field, event.target.value))}
					/>
				))}
				<Input
					label="Expires (UTC)"
					type="date"
					value={expires}
					onChange={(event) => setExpires(event.target.value)}
				/>
			</div>
			{token && <Switch label="Enabled" checked={enabled} onCheckedChange={setEnabled} />}
		</SaveForm>
	);
}

/** The date of an instant. Empty if there is none. */
const dayOf = (instant = ""): string => instant.slice(0, 10);

const groupsOf = (token: Token | undefined): string[] =>
	token?.policies
		.filter(({ effect }) => effect === "allow")
		.flatMap(({ permission_groups }) => permission_groups.map(({ name }) => name)) ?? [DEFAULT_GROUP];

function withLimit(limits: TokenLimits, field: keyof TokenLimits, text: string): TokenLimits {
	const { [field]: _, ...others } = limits;
	return text === "" ? others : { ...others, [field]: Number(text) };
}
