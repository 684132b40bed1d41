import { Button } from "@cloudflare/kumo/components/button";
import type { ItemChunk, SearchItem, SearchItemLog } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { instant } from "../parts/format.ts";
import { InView } from "../parts/in-view.tsx";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";

interface Props {
	item: SearchItem;
	/** Of the item. */
	path: string;
	onClose(): void;
}

const SHOWN_CHUNKS = 20;

/** The log and the first chunks of an item. */
export function ItemDetails({ item, path, onClose }: Props) {
	const { api } = useSession();
	const details = useLoad(
		async (signal) => {
			const [logs, chunks] = await Promise.all([
				api.get<SearchItemLog[]>(`${path}/logs`, {}, signal),
				api.get<ItemChunk[]>(`${path}/chunks`, { limit: SHOWN_CHUNKS }, signal),
			]);
			return { logs: logs.result, chunks: chunks.result };
		},
		[api, path],
	);
	return (
		<InView>
			<Section
				title={item.key}
				actions={
					<Button size="sm" onClick={onClose}>
						Close
					</Button>
				}
			>
				<Loading of={details}>
					{({ logs, chunks }) => (
						<>
							<ol className="timeline">
								{logs.map(({ timestamp, message, errorType }) => (
									<li key={`${timestamp} ${message}`}>
										{instant(timestamp)}: {message} {errorType && <code>{errorType}</code>}
									</li>
								))}
							</ol>
							{chunks.map(({ id, text, start_byte, end_byte }) => (
								<article key={id} className="found" aria-label={`Bytes ${start_byte} to ${end_byte}`}>
									<span className="subtle">
										Bytes {start_byte} to {end_byte}
									</span>
									<p>{text}</p>
								</article>
							))}
						</>
					)}
				</Loading>
			</Section>
		</InView>
	);
}
