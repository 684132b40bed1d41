import { Link, useParams } from "react-router";
import { pathOfModel } from "../api/client.ts";
import type { Explanation, ModelRow, ModelSchema } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { ModelBadges } from "../models/badges.tsx";
import { useCatalog } from "../models/catalog.ts";
import { exampleInput, isComplete, isLive } from "../models/example.ts";
import { contextOf } from "../models/facts.ts";
import { reasonsOf } from "../models/plan.tsx";
import { Code } from "../parts/code.tsx";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/failure.tsx";
import { decimal, integer } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Page, Section } from "../parts/page.tsx";
import { TargetTable } from "../parts/targets.tsx";
import { CopyAs } from "../playground/copy-as.tsx";
import { inputOfSchema } from "../playground/example-input.ts";
import { useSession } from "../session/session.ts";

export default function Model() {
	const name = useParams()["*"] ?? "";
	const catalog = useCatalog();
	return (
		<Page title={name} actions={<Link to={`/playground/${name}`}>Open in the playground</Link>}>
			<Loading of={catalog}>
				{(rows) => {
					const row = rows.find((candidate) => candidate.name === name);
					return row ? (
						<Details key={name} row={row} />
					) : (
						<Failure error={new Error(`The catalogue has no model ${name}`)} />
					);
				}}
			</Loading>
		</Page>
	);
}

function Details({ row }: { row: ModelRow }) {
	const { api } = useSession();
	const schema = useLoad(
		async (signal) =>
			(await api.get<ModelSchema>(api.account("/ai/models/schema"), { model: row.name }, signal)).result,
		[api, row.name],
	);
	return (
		<>
			<p>{row.description}</p>
			<div className="badges">
				<ModelBadges row={row} />
			</div>
			<Loading of={schema}>
				{({ input, output }) => (
					<>
						<Plan row={row} example={exampleInput(input, row.name)} complete={isComplete(input)} />
						<Section title="Example">
							<CopyAs
								model={row}
								input={inputOfSchema(input, row.name)}
								output={output}
								live={isLive(input)}
							/>
						</Section>
						<Section title="Schema">
							<details>
								<summary>Input</summary>
								<Code label="Input schema" text={JSON.stringify(input, null, 2)} />
							</details>
							<details>
								<summary>Output</summary>
								<Code label="Output schema" text={JSON.stringify(output, null, 2)} />
							</details>
						</Section>
					</>
				)}
			</Loading>
		</>
	);
}

/** What `explain` says about the example: price, engines and refusals, without a call of an engine. */
function Plan({ row, example, complete }: { row: ModelRow; example: object; complete: boolean }) {
	const { api } = useSession();
	const plan = useLoad(
		() => api.send<Explanation>("POST", api.account(`/ai/explain/${pathOfModel(row.name)}`), example),
		[api, row.name],
	);
	const context = contextOf(row);
	return (
		<Loading of={plan}>
			{({ price, targets = [], refused }) => (
				<>
					<section className="card" aria-label="Prices">
						<Facts
							rows={[
								["Context", context === undefined ? undefined : `${integer(context)} tokens`],
								...(price?.rows ?? []).map(
									({ unit, neurons }) => [unit, `${decimal(neurons)} neurons`] as const,
								),
								["Price", price?.source === "none" ? "Free" : price?.note],
							]}
						/>
					</section>
					<Section title="Engines">
						{targets.length > 0 ? <TargetTable targets={targets} /> : <p>No engine serves this model.</p>}
						{reasonsOf(refused, complete).map(({ step, code, message }) => (
							<p key={step} className="subtle">
								The example would be refused ({code}): {message}
							</p>
						))}
					</Section>
				</>
			)}
		</Loading>
	);
}
