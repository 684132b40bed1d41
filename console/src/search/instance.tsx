import { useCallback, useState } from "react";
import type { SearchInstance, SearchStats } from "../api/types.ts";
import { useFollowing } from "../api/use-following.ts";
import { useLoad } from "../api/use-load.ts";
import { Facts } from "../parts/facts.tsx";
import { bytes, integer } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";
import { Items } from "./items.tsx";
import { TOKENIZERS } from "./keywords.ts";
import { instancePath } from "./paths.ts";
import { QuestionBox } from "./question.tsx";
import { Source } from "./source.tsx";
import { Uploads } from "./uploads.tsx";

/** One instance: its sizes, a question box, its items. */
export function InstancePart({ instance }: { instance: SearchInstance }) {
	const { api } = useSession();
	const path = instancePath(api, instance);
	const [changes, setChanges] = useState(0);
	const stats = useLoad(
		async (signal) => (await api.get<SearchStats>(`${path}/stats`, {}, signal)).result,
		[api, path, changes],
	);
	const isBusy = (stats.value?.queued ?? 0) + (stats.value?.running ?? 0) > 0;
	useFollowing(isBusy, stats);
	const onChanged = useCallback(() => setChanges((count) => count + 1), []);
	return (
		<div className="stack">
			<Section title={instance.id}>
				<Loading of={stats}>{(value) => <Sizes stats={value} instance={instance} />}</Loading>
			</Section>
			<Source instance={instance} path={path} onChanged={onChanged} />
			<QuestionBox instance={instance} path={path} />
			<Section title="Items">
				<Uploads path={path} onUploaded={onChanged} />
				<Items path={path} version={changes} isFollowing={isBusy} onChanged={onChanged} />
			</Section>
		</div>
	);
}

function Sizes({ stats, instance }: { stats: SearchStats; instance: SearchInstance }) {
	const { vectorize, r2 } = stats.engine;
	return (
		<Facts
			rows={[
				["Indexed items", integer(stats.completed)],
				["Waiting", stats.queued + stats.running > 0 ? integer(stats.queued + stats.running) : undefined],
				["Failed", stats.error > 0 ? integer(stats.error) : undefined],
				["Chunks", integer(stats.chunks_count)],
				[
					"Vectors",
					vectorize.vectorsCount > 0
						? `${integer(vectorize.vectorsCount)} × ${integer(vectorize.dimensions)}`
						: undefined,
				],
				["Files", bytes(r2.payloadSizeBytes)],
				["Chunk size", `${integer(instance.chunk_size)} tokens`],
				["Overlap", `${integer(instance.chunk_overlap)} %`],
				[
					"Keywords",
					instance.index_method.keyword ? TOKENIZERS[instance.indexing_options.keyword_tokenizer] : undefined,
				],
				["Cache of chats", instance.cache ? "on" : "off"],
				["Public endpoint", instance.public_endpoint_id ?? undefined],
			]}
		/>
	);
}
