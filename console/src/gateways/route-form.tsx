import { Input, InputArea } from "@cloudflare/kumo/components/input";
import { useState } from "react";
import { answerOf, jsonRequest } from "../api/client.ts";
import { json } from "../parts/json.ts";
import { SaveForm } from "../parts/save-form.tsx";
import { useSession } from "../session/session.ts";
import type { DynamicRouteRow } from "./records.ts";
import { SearchInstances, useSearchInstances } from "./search-instances.tsx";

interface Props {
	/** Absent: a new route. */
	route: DynamicRouteRow | undefined;
	/** The id of the gateway. */
	gateway: string;
	/** The path of the list. */
	path: string;
	/** A version is stored, and not deployed yet. */
	onStored(): void;
	/** `notes`: for example models that cannot be called. */
	onDeployed(notes: readonly string[]): void;
	onCancel(): void;
}

const MODEL = { provider: "workers-ai", model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast" };
/** One model. */
const EXAMPLE = [
	{ id: "start", type: "start", outputs: { next: { elementId: "model" } } },
	{ id: "model", type: "model", properties: MODEL, outputs: { success: { elementId: "end" } } },
	{ id: "end", type: "end", outputs: {} },
];

/** Changes the name of a route, or stores and deploys a version of it, or both. Another name alone deploys nothing. */
export function RouteForm({ route, gateway, path, onStored, onDeployed, onCancel }: Props) {
	const { api } = useSession();
	/** The route that this form has created. */
	const [created, setCreated] = useState<DynamicRouteRow>();
	const [name, setName] = useState(route?.name ?? "");
	/** The route has it, even if a version was then refused. */
	const [storedName, setStoredName] = useState(name);
	const [before] = useState(() => JSON.stringify(route?.elements ?? EXAMPLE, null, 2));
	const [text, setText] = useState(before);

	const isRenamed = route !== undefined && name !== storedName;
	const isChanged = text !== before;
	const instances = useSearchInstances(isRenamed ? { gateway, model: `dynamic/${storedName}` } : undefined);
	const isLooking = isRenamed && instances.state === "loading" && !instances.error;
	const isDraft = route !== undefined && route.deployment?.version_id !== route.version.version_id;

	async function send(): Promise<void> {
		const elements = json(text, "Elements");
		const existing = route ?? created;
		if (isRenamed) {
			const renamed = await api.fetch(`${path}/${route.id}`, jsonRequest("PATCH", { name }));
			await answerOf<{ route: unknown }>(renamed, "route");
			setStoredName(name);
			onStored();
			if (!isChanged) return onDeployed([]);
		}
		const { result, notes } = existing
			? await api.change<DynamicRouteRow>("POST", `${path}/${existing.id}/versions`, { elements })
			: await api.change<DynamicRouteRow>("POST", path, { name, elements });
		setCreated(result);
		onStored();
		const { version_id } = result.version;
		await api.send("POST", `${path}/${result.id}/deployments`, { version_id });
		onDeployed(notes);
	}

	return (
		<SaveForm
			title={route ? `Edit dynamic/${route.name}` : "New route"}
			button={isRenamed && !isChanged ? "Rename" : "Deploy"}
			isReady={!isLooking}
			onSend={send}
			onCancel={onCancel}
		>
			<Input
				label="Name"
				description={
					route && "Requests that name the route as it was named before are refused within five seconds."
				}
				required
				readOnly={created !== undefined}
				autoComplete="off"
				value={name}
				onChange={(event) => setName(event.target.value)}
			/>
			{isRenamed && <SearchInstances instances={instances} model={`dynamic/${name}`} />}
			{isDraft && (
				<p className="subtle">These are the elements of the latest version, which is not deployed.</p>
			)}
			<InputArea
				label="Elements (JSON)"
				required
				spellCheck={false}
				rows={14}
				value={text}
				onChange={(event) => setText(event.target.value)}
			/>
		</SaveForm>
	);
}
