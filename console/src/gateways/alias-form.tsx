import { Input, InputArea } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { useState } from "react";
import { SaveForm } from "../parts/save-form.tsx";
import { useSession } from "../session/session.ts";
import type { GatewayAliasRow } from "./records.ts";

interface Props {
	/** Absent: a new alias. */
	alias: GatewayAliasRow | undefined;
	/** The path of the list. */
	path: string;
	/** `notes`: models that cannot be called. */
	onSaved(notes: readonly string[]): void;
	onCancel(): void;
}

export const ROUTINGS = { fallback: "as listed", smart: "Auto Router" } as const;
const EXAMPLE = "@cf/openai/gpt-oss-120b\nopenai/gpt-5.6-sol\ncustom-our-models/large";

export function AliasForm({ alias, path, onSaved, onCancel }: Props) {
	const { api } = useSession();
	const [name, setName] = useState("");
	const [routing, setRouting] = useState(alias?.routing ?? "fallback");
	const [lines, setLines] = useState(() => alias?.models.join("\n") ?? "");

	async function send(): Promise<void> {
		const models = lines.split("\n").flatMap((line) => line.trim() || []);
		const repeated = models.find((id, index) => models.indexOf(id) < index);
		if (repeated !== undefined) throw new Error(`Models: ${repeated} is listed twice: remove one`);
		const { notes } = alias
			? await api.change("PUT", `${path}/${encodeURIComponent(alias.name)}`, { routing, models })
			: await api.change("POST", path, { name, routing, models });
		onSaved(notes);
	}

	return (
		<SaveForm
			title={alias ? `Edit ${alias.model}` : "New alias"}
			button={alias ? "Save" : "Create"}
			onSend={send}
			onCancel={onCancel}
		>
			<div className="filters">
				{!alias && (
					<Input
						label="Name"
						required
						maxLength={71}
						pattern="(custom\/)?[A-Za-z0-9_.\-]{1,64}"
						title="Up to 64 letters, digits, _, . and -"
						autoComplete="off"
						value={name}
						onChange={(event) => setName(event.target.value)}
					/>
				)}
				<Select
					label="Order of the models"
					value={routing}
					items={ROUTINGS}
					onValueChange={(chosen) => setRouting(chosen ?? routing)}
				/>
			</div>
			<InputArea
				label="Models, one in each line"
				required
				placeholder={EXAMPLE}
				spellCheck={false}
				rows={5}
				value={lines}
				onChange={(event) => setLines(event.target.value)}
			/>
			<p className="subtle">If a model fails, the next one is called.</p>
		</SaveForm>
	);
}
