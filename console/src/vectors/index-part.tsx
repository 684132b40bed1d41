import type { MetadataIndex, VectorIndex, VectorInfo } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/failure.tsx";
import { instant, integer } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { Matches } from "./matches.tsx";
import { indexPath } from "./paths.ts";
import { Picture } from "./picture.tsx";
import { useVectorQuery } from "./query.ts";
import { QueryForm } from "./query-form.tsx";

/** Of a search by a point or a result. */
const NEAREST = 10;

/** One index: its sizes, a query, a picture. */
export function IndexPart({ index }: { index: VectorIndex }) {
	const { api } = useSession();
	const path = indexPath(api, index.name);
	const { ask, error, isAsking, matches, milliseconds, vector } = useVectorQuery(path);
	const state = useLoad(
		async (signal) => {
			const [info, indexes] = await Promise.all([
				api.get<VectorInfo>(`${path}/info`, {}, signal),
				api.get<{ metadataIndexes: MetadataIndex[] }>(`${path}/metadata_index/list`, {}, signal),
			]);
			return { info: info.result, metadataIndexes: indexes.result.metadataIndexes };
		},
		[api, path],
	);
	const near = (vectorId: string): void =>
		void ask({ vectorId, topK: NEAREST, returnMetadata: "all", returnValues: false });
	return (
		<div className="stack">
			<Section title={index.name}>
				<Loading of={state}>
					{({ info, metadataIndexes }) => (
						<Facts
							rows={[
								["Vectors", integer(info.vectorCount)],
								["Dimensions", integer(index.config.dimensions)],
								["Metric", index.config.metric],
								["Store", index.store ?? "in the gateway"],
								["Last change", info.processedUpToDatetime && instant(info.processedUpToDatetime)],
								["Delay", index.delay_ms && `${integer(index.delay_ms)} ms`],
								[
									"Metadata indexes",
									metadataIndexes
										.map(({ indexType, propertyName }) => `${propertyName} (${indexType})`)
										.join(", "),
								],
								["Description", index.description],
							]}
						/>
					)}
				</Loading>
			</Section>
			<Section title="Query">
				<QueryForm
					index={index}
					metadataIndexes={state.value?.metadataIndexes ?? []}
					isAsking={isAsking}
					onAsk={(query) => void ask(query)}
				/>
				{error && <Failure error={error} />}
				{matches && (
					<Matches matches={matches} time={milliseconds} metric={index.config.metric} onChoose={near} />
				)}
			</Section>
			<Picture
				{...{ index, path }}
				query={vector}
				found={matches?.map(({ id }) => id) ?? []}
				onChoose={near}
			/>
		</div>
	);
}
