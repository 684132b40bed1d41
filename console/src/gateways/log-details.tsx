import { Button } from "@cloudflare/kumo/components/button";
import { Select } from "@cloudflare/kumo/components/select";
import { useState } from "react";
import { bodyOf } from "../api/client.ts";
import { errorOf } from "../api/error-of.ts";
import { useLoad } from "../api/use-load.ts";
import { Code } from "../parts/code.tsx";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/failure.tsx";
import { bytes, dollars, instant, integer, milliseconds } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import type { GatewayLog, GatewayLogDetails, LogPart } from "./records.ts";

interface Props {
	log: GatewayLog;
	/** Of the log. */
	path: string;
	onClose(): void;
}

const FEEDBACK = { "0": "None", "1": "Good", "-1": "Bad" } as const;

/** One request of a gateway's log: its facts, its contents and its feedback. */
export function LogDetails({ log, path, onClose }: Props) {
	const { api } = useSession();
	// A session that only reads has the row of the list, and no contents.
	const details = useLoad(
		async (signal) => (await api.get<GatewayLogDetails>(path, {}, signal)).result,
		[api, path],
	);
	return (
		<InView>
			<Section
				title="Log"
				actions={
					<Button size="sm" onClick={onClose}>
						Close
					</Button>
				}
			>
				<LogFacts log={log} />
				<Loading of={details}>
					{(value) => (
						<>
							<Feedback path={path} feedback={value.feedback ?? 0} />
							<Content path={path} part="request" title="Request" log={value} />
							<Content path={path} part="response" title="Response" log={value} />
						</>
					)}
				</Loading>
			</Section>
		</InView>
	);
}

const LogFacts = ({ log }: { log: GatewayLog }) => (
	<Facts
		rows={[
			["Id", log.id],
			["Model", log.model],
			["Path", log.path],
			["Started", instant(log.created_at)],
			["Status", integer(log.status_code)],
			["Provider", log.provider],
			["Task", log.model_type],
			["Step", log.step > 0 ? integer(log.step) : undefined],
			["From the cache", log.cached ? "yes" : undefined],
			["Input tokens", countText(log.tokens_in, log)],
			["Output tokens", countText(log.tokens_out, log)],
			["Cost", log.cost === undefined ? "unknown" : dollars(log.cost)],
			["First byte", log.timings && milliseconds(log.timings.latency)],
			["Complete", milliseconds(log.duration)],
			["Client", log.user_agent],
			["Metadata", log.metadata && JSON.stringify(log.metadata)],
			["Data-loss prevention", log.dlp_action],
			["Guardrails", log.guardrails === undefined ? undefined : JSON.stringify(log.guardrails)],
			["Score", log.score === undefined ? undefined : integer(log.score)],
		]}
	/>
);

const countText = (count: number | null, { usage_estimated }: GatewayLog): string | undefined =>
	count === null ? undefined : `${integer(count)}${usage_estimated ? " (estimated)" : ""}`;

function Feedback({ path, feedback }: { path: string; feedback: number }) {
	const { api } = useSession();
	const [value, setValue] = useState(feedback);
	const [error, setError] = useState<Error>();
	async function set(chosen: number): Promise<void> {
		setError(undefined);
		try {
			await api.send("PATCH", path, { feedback: chosen });
			setValue(chosen);
		} catch (failure) {
			setError(errorOf(failure));
		}
	}
	return (
		<>
			{error && <Failure error={error} />}
			<div className="filters">
				<Select
					label="Feedback"
					value={String(value)}
					items={FEEDBACK}
					onValueChange={(chosen) => void set(Number(chosen ?? 0))}
				/>
			</div>
		</>
	);
}

interface ContentProps {
	path: string;
	part: LogPart;
	title: string;
	log: GatewayLogDetails;
}

/** The beginning of a body, and all of it on request. */
function Content({ path, part, title, log }: ContentProps) {
	const { api } = useSession();
	const [whole, setWhole] = useState<{ text: string; isComplete: boolean }>();
	const [error, setError] = useState<Error>();
	const beginning = log[`${part}_head`];
	async function load(): Promise<void> {
		setError(undefined);
		try {
			const response = await api.fetch(`${path}/${part}`);
			// Of a large body only the beginning is kept.
			const isComplete = response.headers.get("x-ganglion-complete") !== "false";
			setWhole({ text: await bodyOf(response.text()), isComplete });
		} catch (failure) {
			setError(errorOf(failure));
		}
	}
	const text = whole?.text ?? beginning;
	return (
		<>
			<h3>
				{title} <span className="subtle">{bytes(log[`${part}_size`])}</span>
			</h3>
			{error && <Failure error={error} />}
			{text === undefined ? (
				<p className="subtle">Not kept.</p>
			) : (
				<Code wraps label={title} text={readable(text)} />
			)}
			{whole?.isComplete === false && <p className="subtle">Only this beginning is kept.</p>}
			{!whole && beginning !== undefined && !log[`${part}_head_complete`] && (
				<div className="buttons">
					<Button size="sm" aria-label={`Show the complete ${part}`} onClick={() => void load()}>
						Show all
					</Button>
				</div>
			)}
		</>
	);
}

/** JSON with line breaks. Other text as it is. */
function readable(text: string): string {
	try {
		return JSON.stringify(JSON.parse(text), null, 2);
	} catch {
		return text;
	}
}
