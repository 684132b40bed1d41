import { Input, InputArea } from "@cloudflare/kumo/components/input";
import { Switch } from "@cloudflare/kumo/components/switch";
import { useState } from "react";
import { REDACTED } from "../../../src/gateways/secrets.ts";
import { objectIn } from "../parts/json.ts";
import { SaveForm } from "../parts/save-form.tsx";
import { useSession } from "../session/session.ts";
import type { CustomProviderRow } from "./records.ts";

interface Props {
	/** Absent: a new one. */
	provider: CustomProviderRow | undefined;
	/** The path of the list. */
	path: string;
	onSaved(notes: readonly string[]): void;
	onCancel(): void;
}

/** As the API stores it: without slashes at the end. */
const trimmed = (address: string): string => address.trim().replace(/\/+$/, "");
const HEADERS_EXAMPLE = '{"x-team": "search"}';

export function CustomProviderForm({ provider, path, onSaved, onCancel }: Props) {
	const { api, session } = useSession();
	const [slug, setSlug] = useState("");
	const [name, setName] = useState(provider?.name ?? "");
	const [address, setAddress] = useState(provider?.base_url ?? "");
	const [isEnabled, setIsEnabled] = useState(provider?.enable ?? true);
	const [headers, setHeaders] = useState(provider?.headers ?? "");
	const changesAddress = provider !== undefined && trimmed(address) !== trimmed(provider.base_url);

	async function send(): Promise<void> {
		const sent = objectIn(headers, "Headers", HEADERS_EXAMPLE);
		const values = Object.values(sent);
		if (!values.every((value) => typeof value === "string"))
			throw new Error(`Headers: expected texts, such as ${HEADERS_EXAMPLE}`);
		if (changesAddress && values.includes(REDACTED))
			throw new Error("Headers: enter the values again: stored values are not sent to a new address");
		const { token } = session;
		// The next request would send it to the provider.
		if (token !== undefined && values.some((value) => value.includes(token)))
			throw new Error("Headers: a value has the token of this session");
		const fields = { name: name.trim(), base_url: address.trim(), enable: isEnabled, headers: sent };
		const { notes } = provider
			? await api.change("PATCH", `${path}/${provider.id}`, fields)
			: await api.change("POST", path, { ...fields, slug });
		onSaved(notes);
	}

	return (
		<SaveForm
			title={provider ? `Edit custom-${provider.slug}` : "New custom provider"}
			button={provider ? "Save" : "Create"}
			onSend={send}
			onCancel={onCancel}
		>
			<div className="filters">
				<Input
					label="Name"
					required
					maxLength={256}
					autoComplete="off"
					value={name}
					onChange={(event) => setName(event.target.value)}
				/>
				{!provider && (
					<Input
						label="Slug, after custom- in requests"
						required
						maxLength={64}
						pattern="[a-z0-9]([a-z0-9\-]*[a-z0-9])?"
						title="Lower-case letters, digits and, between them, -"
						autoComplete="off"
						value={slug}
						onChange={(event) => setSlug(event.target.value)}
					/>
				)}
				<Input
					label="Base URL"
					type="url"
					required
					maxLength={2048}
					placeholder="https://models.example.com/v1"
					autoComplete="off"
					value={address}
					onChange={(event) => setAddress(event.target.value)}
				/>
			</div>
			{changesAddress && (
				<p className="plain">
					If you change the address, the keys that gateways store for this provider are deleted.
				</p>
			)}
			<p className="subtle">
				Its key: Keys of providers of a gateway, provider custom-{provider?.slug ?? (slug || "{slug}")}.
			</p>
			<InputArea
				label="Headers of each request (JSON)"
				placeholder={HEADERS_EXAMPLE}
				spellCheck={false}
				rows={3}
				value={headers}
				onChange={(event) => setHeaders(event.target.value)}
			/>
			<p className="subtle">Values of headers are not shown again. {REDACTED} keeps the stored value.</p>
			<Switch label="Enabled" checked={isEnabled} onCheckedChange={setIsEnabled} />
		</SaveForm>
	);
}
