import { useEffect, useState } from "react";
import { v4 } from "../api/client.ts";
import type { LocalModel, LocalModels } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Confirm } from "../parts/confirm.tsx";
import { bytes, integer } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { Memory } from "./memory.tsx";
import { ModelRow } from "./row.tsx";

/** Between two looks at what changes by itself, and at what other processes change. */
const BUSY_MS = 1_000;
const IDLE_MS = 10_000;

type Action = "pull" | "cancel" | "load" | "unload" | "remove";
/** Commands that wait for a confirmation. */
type Question = { action: "pull" | "remove"; model: LocalModel };

const isBusy = ({ state }: LocalModel): boolean => state === "downloading" || state === "loading";

/** `routed`: ids that this gateway answers with models of this machine. */
export function LocalModelList({ routed }: { routed: ReadonlySet<string> }) {
	const { api } = useSession();
	const [question, setQuestion] = useState<Question>();
	/** Of the last command, at its model. */
	const [refused, setRefused] = useState<{ name: string; text: string }>();
	const path = v4("/local-models");
	const status = useLoad(async (signal) => (await api.get<LocalModels>(path, {}, signal)).result, [api]);
	useReloads(status.reload, status.value?.models.some(isBusy) ?? false);

	async function send(action: Action, { name, licence_text }: LocalModel): Promise<void> {
		setQuestion(undefined);
		setRefused(undefined);
		try {
			const accepts = action === "pull" && licence_text !== undefined;
			await api.send("POST", path, { action, model: name, ...(accepts && { accept_licence: true }) });
		} catch (failure) {
			setRefused({ name, text: failure instanceof Error ? failure.message : String(failure) });
		}
		status.reload();
	}

	const begin = (action: Action, model: LocalModel): void => {
		const asks = action === "remove" || (action === "pull" && model.licence_text !== undefined);
		if (asks) setQuestion({ action, model });
		else void send(action, model);
	};
	const list = (models: readonly LocalModel[], limit: number) => (
		<ul className="local-models">
			{models.map((model) => (
				<ModelRow
					key={model.name}
					model={model}
					isTooLarge={model.memory > limit}
					problem={model.problem ?? (refused?.name === model.name ? refused.text : undefined)}
					tryId={model.serves.find((id) => routed.has(id))}
					onAction={(action) => begin(action, model)}
				/>
			))}
		</ul>
	);

	return (
		<>
			{question && (
				<Question
					{...question}
					onConfirm={() => void send(question.action, question.model)}
					onCancel={() => setQuestion(undefined)}
				/>
			)}
			<Loading of={{ ...status, state: status.value ? "ready" : status.state }}>
				{(value) => {
					const here = value.models.filter(({ state }) => state !== "missing");
					const missing = value.models.filter(({ state }) => state === "missing");
					return (
						<>
							<Section title="Room">
								<Memory status={value} />
							</Section>
							<Section title="On this machine">
								{here.length > 0 ? (
									list(here, value.memory_bytes)
								) : (
									<p className="empty">No weights are here yet. Pull some below.</p>
								)}
							</Section>
							<Section title={`Available (${integer(missing.length)})`}>
								{list(missing, value.memory_bytes)}
							</Section>
						</>
					);
				}}
			</Loading>
		</>
	);
}

function Question({ action, model, ...events }: Question & { onConfirm(): void; onCancel(): void }) {
	const { name, size, licence, licence_text } = model;
	return action === "remove" ? (
		<Confirm
			title={`Remove ${name}?`}
			text={`Its files (${bytes(size)}) are deleted. They can be downloaded again.`}
			button="Remove"
			{...events}
		/>
	) : (
		<Confirm
			title={`Accept the ${licence}?`}
			text={`${name} has a licence that you must accept once. Its text: ${licence_text}`}
			button="Accept and pull"
			primary
			{...events}
		/>
	);
}

/** A hidden tab waits. */
function useReloads(reload: () => void, busy: boolean): void {
	useEffect(() => {
		const timer = setInterval(
			() => {
				if (!document.hidden) reload();
			},
			busy ? BUSY_MS : IDLE_MS,
		);
		return () => clearInterval(timer);
	}, [reload, busy]);
}
