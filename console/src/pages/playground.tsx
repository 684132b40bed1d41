import { Select } from "@cloudflare/kumo/components/select";
import { useNavigate, useParams } from "react-router";
import type { CatalogRow, ModelRow, ModelSchema } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { useCatalog } from "../models/catalog.ts";
import { formsOf, isLive } from "../models/example.ts";
import { Failure } from "../parts/failure.tsx";
import { Loading } from "../parts/loading.tsx";
import { Page } from "../parts/page.tsx";
import { Chat } from "../playground/chat.tsx";
import { Live } from "../playground/live.tsx";
import { Task } from "../playground/task.tsx";
import { useSession } from "../session/session.ts";

const CHAT_TASK = "Text Generation";
const FIRST_MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

export default function Playground() {
	const named = useParams()["*"];
	return (
		<Page title="Playground">
			<Loading of={useCatalog()}>
				{(rows) => {
					const name = named || firstModel(rows);
					const model = rows.find((row) => row.name === name);
					return (
						<>
							<ModelPicker rows={rows} model={model} />
							{model ? (
								<Runner key={model.name} model={model} />
							) : (
								<Failure error={new Error(`The catalogue has no model ${name}`)} />
							)}
						</>
					);
				}}
			</Loading>
		</Page>
	);
}

/** The usual model if it is served, or else the first chat model that is, or any model that is. */
function firstModel(rows: readonly CatalogRow[]): string {
	const served = rows.filter((row) => row.served);
	const chat = served.find(({ task }) => task.name === CHAT_TASK);
	return (served.find(({ name }) => name === FIRST_MODEL) ?? chat ?? served[0])?.name ?? FIRST_MODEL;
}

/** Chat for a model that takes messages, the microphone for one that takes samples, else the form of its schema. */
function Runner({ model }: { model: ModelRow }) {
	const { api } = useSession();
	const schema = useLoad(
		async (signal) =>
			(await api.get<ModelSchema>(api.account("/ai/models/schema"), { model: model.name }, signal)).result,
		[api, model.name],
	);
	return (
		<Loading of={schema}>
			{(loaded) => {
				const forms = formsOf(loaded.input);
				if (forms.some(({ properties }) => properties?.messages)) return <Chat model={model} />;
				if (isLive(loaded.input)) return <Live model={model} />;
				return <Task model={model} schema={loaded} />;
			}}
		</Loading>
	);
}

/** The task, then a model of it. The address has the model. */
function ModelPicker({ rows, model }: { rows: readonly CatalogRow[]; model: CatalogRow | undefined }) {
	const navigate = useNavigate();
	const task = model?.task.name ?? "";
	const tasks = [...new Set(rows.map((row) => row.task.name))].sort();
	const models = rows.filter((row) => row.task.name === task);
	const open = (name: string | undefined): void => {
		if (name !== undefined) navigate(`/playground/${name}`);
	};
	return (
		<div className="filters">
			<Select
				label="Task"
				value={task}
				onValueChange={(chosen) => open(rows.find((row) => row.task.name === chosen)?.name)}
				items={Object.fromEntries(tasks.map((name) => [name, name]))}
			/>
			<Select
				label="Model"
				value={model?.name ?? ""}
				onValueChange={(chosen) => open(chosen ?? undefined)}
				items={Object.fromEntries(
					models.map(({ name, served }) => [name, served ? name : `${name} (not served)`]),
				)}
			/>
		</div>
	);
}
