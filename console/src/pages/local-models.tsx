/** The models of the machine that runs this gateway with `--engine local`. */
import { Button } from "@cloudflare/kumo/components/button";
import { v4 } from "../api/client.ts";
import type { EnginesReport } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { LocalModelList } from "../local-models/list.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";

/** The name in `BACKENDS` that `--engine local` uses. */
const BACKEND = "local";

export default function LocalModels() {
	const { api } = useSession();
	// The routes say whether there is such an engine, without a request that would fail.
	const routed = useLoad(
		async (signal) => idsRouted((await api.get<EnginesReport>(v4("/engines"), {}, signal)).result),
		[api],
	);
	return (
		<Page title="Local models" actions={<Button onClick={routed.reload}>Refresh</Button>}>
			<Loading of={routed}>
				{(ids) =>
					ids.size > 0 ? (
						<LocalModelList routed={ids} />
					) : (
						<p className="empty">
							No models run on this machine. Start the gateway with <code>--engine local</code>: it answers
							with open weights, which this page downloads and loads.
						</p>
					)
				}
			</Loading>
		</Page>
	);
}

const idsRouted = ({ routes }: EnginesReport): ReadonlySet<string> =>
	new Set(
		routes
			.filter(({ targets }) => targets.some(({ backend, weights }) => backend === BACKEND && weights))
			.map(({ pattern }) => pattern),
	);
