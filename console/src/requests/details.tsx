import { Button } from "@cloudflare/kumo/components/button";
import type { RequestRow } from "../api/types.ts";
import { Plan } from "../models/plan.tsx";
import { Facts } from "../parts/facts.tsx";
import { decimal, dollars, dollarsOf, instant, integer, milliseconds } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Section } from "../parts/page.tsx";
import { tokenText, useTokenNames } from "../tokens/names.ts";

interface Props {
	request: RequestRow;
	onClose(): void;
}

/** One request: when, where, and its bill. */
export const RequestDetails = ({ request, onClose }: Props) => (
	<InView>
		<Section
			title="Request"
			actions={
				<Button size="sm" onClick={onClose}>
					Close
				</Button>
			}
		>
			<Timeline request={request} />
			<Facts
				rows={[
					["Id", request.id],
					["Model", request.model],
					["Outcome", outcomeText(request)],
					["Task", request.task],
					["Token", tokenText(request.token, useTokenNames())],
					["Backend", request.backend ?? "none"],
					["Calls of engines", integer(request.attempts)],
					["Input tokens", integer(request.input_tokens)],
					["From the engine's cache", request.cached_tokens > 0 ? integer(request.cached_tokens) : undefined],
					["Output tokens", integer(request.output_tokens)],
					["Reserved", `${decimal(request.reserved_neurons)} neurons`],
					["Charged", `${decimal(request.neurons)} neurons${request.estimated ? " (estimated)" : ""}`],
					["In US dollars", dollars(dollarsOf(request.neurons))],
				]}
			/>
			<h3>Engines that a request of this model would call now</h3>
			<Plan model={request.model} />
		</Section>
	</InView>
);

/** `failed (3046): Request timeout` */
const outcomeText = ({ outcome, code, message }: RequestRow): string =>
	code === undefined ? outcome : `${outcome} (${code})${message === undefined ? "" : `: ${message}`}`;

function Timeline({ request }: { request: RequestRow }) {
	const { started_at, time_to_first_token_ms: first, latency_ms: latency, settled_at, outcome } = request;
	// An answer that arrived at once has no first token of its own.
	const streamed = first !== undefined && first !== latency;
	return (
		<ol className="timeline">
			<li>Started {instant(started_at)}</li>
			{request.calls?.map(({ backend, started_ms, failed_ms, code }) => (
				<li key={`${backend} ${started_ms}`}>
					{`Call of ${backend} after ${milliseconds(started_ms)}`}
					{failed_ms !== undefined &&
						`: failed after ${milliseconds(failed_ms)}${code === undefined ? "" : ` (${code})`}`}
				</li>
			))}
			{streamed && <li>First token after {milliseconds(first)}</li>}
			{latency !== null && (
				<li>
					{outcome === "ok" ? "Complete" : "Ended"} after {milliseconds(latency)}
				</li>
			)}
			<li>{settled_at === undefined ? "Under way" : `Settled ${instant(settled_at)}`}</li>
		</ol>
	);
}
