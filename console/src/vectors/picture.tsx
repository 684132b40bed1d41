import { Button } from "@cloudflare/kumo/components/button";
import { useMemo } from "react";
import type { Api } from "../api/client.ts";
import type { StoredVector, VectorIndex } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { planeOf } from "./pca.ts";

const SAMPLE = 300;
/** Of one call of the API. */
const READ_AT_ONCE = 20;
const CALLS_AT_ONCE = 5;
const SIZE = 400;
const MARGIN = 24;
const COLOURS = 6;

interface Props {
	index: VectorIndex;
	path: string;
	/** The vector of the last query. */
	query: readonly number[] | undefined;
	/** The ids that it has found. */
	found: readonly string[];
	onChoose(id: string): void;
}

/** Points of the first vectors of the index. Those that are near each other are alike. */
export function Picture({ found, index, onChoose, path, query }: Props) {
	const { api } = useSession();
	const sample = useLoad((signal) => sampleOf(api, path, signal), [api, path]);
	return (
		<Section
			title="Picture"
			actions={
				<Button size="sm" onClick={sample.reload}>
					Reload
				</Button>
			}
		>
			<Loading of={sample}>
				{(vectors) =>
					vectors.length < 3 ? (
						<p className="empty">A picture needs three vectors.</p>
					) : (
						<Scatter {...{ vectors, query, onChoose }} found={new Set(found)} metric={index.config.metric} />
					)
				}
			</Loading>
		</Section>
	);
}

async function sampleOf(api: Api, path: string, signal: AbortSignal): Promise<StoredVector[]> {
	const { result } = await api.get<{ vectors: { id: string }[] }>(`${path}/list`, { count: SAMPLE }, signal);
	const ids = result.vectors.map(({ id }) => id);
	const parts = Array.from({ length: Math.ceil(ids.length / READ_AT_ONCE) }, (_, at) =>
		ids.slice(at * READ_AT_ONCE, (at + 1) * READ_AT_ONCE),
	);
	const vectors: StoredVector[] = [];
	for (let at = 0; at < parts.length; at += CALLS_AT_ONCE) {
		signal.throwIfAborted();
		const reads = parts
			.slice(at, at + CALLS_AT_ONCE)
			.map((part) => api.send<StoredVector[]>("POST", `${path}/get_by_ids`, { ids: part }));
		vectors.push(...(await Promise.all(reads)).flat());
	}
	return vectors;
}

interface ScatterProps extends Pick<Props, "query" | "onChoose"> {
	vectors: readonly StoredVector[];
	found: ReadonlySet<string>;
	metric: VectorIndex["config"]["metric"];
}

function Scatter({ found, metric, onChoose, query, vectors }: ScatterProps) {
	const plane = useMemo(
		() =>
			planeOf(
				vectors.map(({ values }) => values),
				metric === "cosine",
			),
		[vectors, metric],
	);
	const namespaces = [...new Set(vectors.flatMap(({ namespace }) => namespace ?? []))].sort();
	const colourOf = (namespace: string | undefined): string =>
		namespace === undefined ? "" : `colour-${(namespaces.indexOf(namespace) % COLOURS) + 1}`;
	const place = (values: readonly number[]): { cx: number; cy: number } => {
		const [x, y] = plane.place(values);
		const scaled = (value: number): number => SIZE / 2 + value * (SIZE / 2 - MARGIN);
		return { cx: scaled(x), cy: scaled(-y) };
	};
	return (
		<>
			{/* biome-ignore lint/a11y/useSemanticElements: the parts of a picture are no fields. */}
			<svg className="scatter" viewBox={`0 0 ${SIZE} ${SIZE}`} role="group" aria-label="Vectors as points">
				{vectors.map(({ id, namespace, values }) => (
					// biome-ignore lint/a11y/useSemanticElements: a picture has no buttons of HTML.
					<circle
						key={id}
						{...place(values)}
						r={found.has(id) ? 6 : 4}
						className={`${colourOf(namespace)}${found.has(id) ? " found" : ""}`}
						role="button"
						tabIndex={-1}
						aria-label={id}
						onClick={() => onChoose(id)}
						onKeyDown={(event) => event.key === "Enter" && onChoose(id)}
					>
						<title>{namespace === undefined ? id : `${id} (${namespace})`}</title>
					</circle>
				))}
				{query && <QueryMark {...place(query)} />}
			</svg>
			{namespaces.length > 0 && (
				<ul className="badges plain" aria-label="Namespaces">
					{namespaces.slice(0, COLOURS).map((namespace) => (
						<li key={namespace} className={`legend ${colourOf(namespace)}`}>
							{namespace}
						</li>
					))}
				</ul>
			)}
			<p className="subtle">
				{vectors.length} vectors on the plane in which they differ most, which shows{" "}
				{Math.round(plane.share * 100)}% of their differences. A click on a point finds the vectors near it.
			</p>
		</>
	);
}

const ARM = 8;

const QueryMark = ({ cx, cy }: { cx: number; cy: number }) => (
	<path className="query" d={`M${cx - ARM} ${cy}h${2 * ARM}M${cx} ${cy - ARM}v${2 * ARM}`}>
		<title>The query</title>
	</path>
);
