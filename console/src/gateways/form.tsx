import { Input, InputArea } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { Switch } from "@cloudflare/kumo/components/switch";
import { useState } from "react";
import type { GatewaySettings } from "../../../src/gateways/settings.ts";
import { SaveForm } from "../parts/save-form.tsx";
import { useSession } from "../session/session.ts";
import { gatewayPath, gatewaysPath } from "./paths.ts";
import { fieldsOf, type GatewayFields, settingsOf } from "./settings.ts";
import { SpendRules } from "./spend-rules.tsx";

interface Props {
	/** Absent: a new gateway. */
	gateway: GatewaySettings | undefined;
	/** Of a new gateway. */
	name?: string | undefined;
	/** `notes`: what the settings do not do. */
	onSaved(gateway: GatewaySettings, notes: readonly string[]): void;
	onCancel(): void;
}

const MAX_CACHE_SECONDS = 31 * 86_400;
const TECHNIQUES = { fixed: "fixed", sliding: "sliding" } as const;
const OTHERS_EXAMPLE = '{"retry_max_attempts": 3, "guardrails": {"prompt": {"S1": "BLOCK"}}}';

// `required={false}` would show "optional" in the label, so the prop is set only if the other field of the rate limit is filled.
export function GatewayForm({ gateway, name = "", onSaved, onCancel }: Props) {
	const { api } = useSession();
	const [before] = useState(() => fieldsOf(gateway));
	const [fields, setFields] = useState(gateway ? before : { ...before, id: name });
	const change = (changes: Partial<GatewayFields>): void =>
		setFields((before) => ({ ...before, ...changes }));

	async function send(): Promise<void> {
		const settings = settingsOf(fields, before);
		const { result, notes } = gateway
			? await api.change<GatewaySettings>("PUT", gatewayPath(api, gateway.id), settings)
			: await api.change<GatewaySettings>("POST", gatewaysPath(api), { ...settings, id: fields.id });
		onSaved(result, notes);
	}

	return (
		<SaveForm
			title={gateway ? `Edit ${gateway.id}` : "New gateway"}
			button={gateway ? "Save" : "Create"}
			onSend={send}
			onCancel={onCancel}
		>
			{!gateway && (
				<Input
					label="Name"
					required
					maxLength={64}
					pattern="[A-Za-z0-9_\-]+"
					title="Letters, digits, _ and -"
					autoComplete="off"
					value={fields.id}
					onChange={(event) => change({ id: event.target.value })}
				/>
			)}
			<div className="filters">
				<Input
					label="Cache answers for (seconds)"
					type="number"
					min={0}
					max={MAX_CACHE_SECONDS}
					placeholder="On request only"
					value={fields.cacheSeconds}
					onChange={(event) => change({ cacheSeconds: event.target.value })}
				/>
				<Input
					label="Requests at most"
					type="number"
					min={0}
					placeholder="No limit"
					{...(fields.requestSeconds !== "" && { required: true })}
					value={fields.requests}
					onChange={(event) => change({ requests: event.target.value })}
				/>
				<Input
					label="In (seconds)"
					type="number"
					min={0}
					placeholder="No limit"
					{...(fields.requests !== "" && { required: true })}
					value={fields.requestSeconds}
					onChange={(event) => change({ requestSeconds: event.target.value })}
				/>
				<Select
					label="Windows of requests"
					value={fields.technique}
					items={TECHNIQUES}
					onValueChange={(chosen) => change({ technique: chosen ?? fields.technique })}
				/>
				<Input
					label="Logs at most"
					type="number"
					min={1}
					placeholder="The default"
					disabled={!fields.keepsLogs}
					value={fields.maxLogs}
					onChange={(event) => change({ maxLogs: event.target.value })}
				/>
			</div>
			<div className="buttons">
				<Switch
					label="Keep logs"
					checked={fields.keepsLogs}
					onCheckedChange={(keepsLogs) => change({ keepsLogs })}
				/>
				<Switch
					label="Empty the cache when settings change"
					checked={fields.emptiesCache}
					onCheckedChange={(emptiesCache) => change({ emptiesCache })}
				/>
				<Switch
					label="Without the operator's keys of providers"
					checked={fields.withoutOperatorKeys}
					onCheckedChange={(withoutOperatorKeys) => change({ withoutOperatorKeys })}
				/>
			</div>
			<SpendRules rules={fields.spendRules} onChange={(spendRules) => change({ spendRules })} />
			{fields.spendRules.length > 0 && (
				<Switch
					label="Spend limits are enforced"
					checked={fields.enforcesSpendLimits}
					onCheckedChange={(enforcesSpendLimits) => change({ enforcesSpendLimits })}
				/>
			)}
			<InputArea
				label="Other settings (JSON)"
				placeholder={OTHERS_EXAMPLE}
				spellCheck={false}
				rows={6}
				value={fields.others}
				onChange={(event) => change({ others: event.target.value })}
			/>
		</SaveForm>
	);
}
