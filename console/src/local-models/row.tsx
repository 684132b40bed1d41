import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { Meter } from "@cloudflare/kumo/components/meter";
import { Link } from "react-router";
import type { LocalModel } from "../api/types.ts";
import { FailureBanner } from "../parts/failure.tsx";
import { bytes, integer } from "../parts/format.ts";

interface Props {
	model: LocalModel;
	/** An id of the catalogue that this gateway answers with the model. */
	tryId: string | undefined;
	/** It needs more memory than all models may have. */
	isTooLarge: boolean;
	/** Why the last command about it failed. */
	problem: string | undefined;
	onAction(action: "pull" | "cancel" | "load" | "unload" | "remove"): void;
}

const STATES = {
	missing: ["outline", "not here"],
	downloading: ["info", "downloading"],
	unloaded: ["secondary", "on disk"],
	loading: ["info", "loading"],
	loaded: ["success", "loaded"],
	sleeping: ["secondary", "asleep"],
} as const;

const RELATIONS = {
	same: "same weights",
	quantised: "same weights, quantised",
	sibling: "sibling",
} as const;

export function ModelRow({ model, tryId, isTooLarge, problem, onAction }: Props) {
	const { name, repository, revision, relation, use, size, memory, licence, state, progress } = model;
	const [variant, text] = STATES[state];
	const isLoaded = state === "loaded" || state === "sleeping" || state === "loading";
	return (
		<li className="local-model">
			<div className="local-model-text">
				<div className="badges">
					<strong>{name}</strong>
					{state !== "missing" && <Badge variant={variant}>{text}</Badge>}
					{isTooLarge && <Badge variant="warning">too large for this memory</Badge>}
					<Badge variant="outline">{RELATIONS[relation]}</Badge>
				</div>
				<p className="subtle">
					{use.replaceAll("-", " ")} · {bytes(size)} · {bytes(memory)} of memory · {licence}
				</p>
				<p className="subtle">
					<code>
						{revision === undefined ? repository : `${repository}@${revision.slice(0, SHOWN_CHARS)}`}
					</code>
				</p>
				{relation === "sibling" && <Serves ids={model.serves} />}
				{progress && <Progress {...progress} name={name} />}
				{problem !== undefined && <FailureBanner text={problem} />}
			</div>
			<div className="buttons">
				{state === "missing" && (
					<Button
						size="sm"
						aria-label={`Pull ${name}`}
						disabled={isTooLarge}
						onClick={() => onAction("pull")}
					>
						Pull
					</Button>
				)}
				{state === "downloading" && (
					<Button size="sm" aria-label={`Cancel the download of ${name}`} onClick={() => onAction("cancel")}>
						Cancel
					</Button>
				)}
				{state === "unloaded" && (
					<Button size="sm" aria-label={`Load ${name}`} onClick={() => onAction("load")}>
						Load
					</Button>
				)}
				{isLoaded && (
					<Button size="sm" aria-label={`Unload ${name}`} onClick={() => onAction("unload")}>
						Unload
					</Button>
				)}
				{(state === "unloaded" || isLoaded) && (
					<>
						<Button
							size="sm"
							variant="secondary-destructive"
							aria-label={`Remove ${name}`}
							onClick={() => onAction("remove")}
						>
							Remove
						</Button>
						{tryId !== undefined && (
							<Link to={`/playground/${tryId}`} aria-label={`Try ${name}`}>
								Try
							</Link>
						)}
					</>
				)}
			</div>
		</li>
	);
}

/** Of a revision. */
const SHOWN_CHARS = 12;
const MAX_IDS = 3;

function Serves({ ids }: { ids: readonly string[] }) {
	if (ids.length === 0) return null;
	const others = ids.length - MAX_IDS;
	return (
		<p className="subtle">
			Answers for {ids.slice(0, MAX_IDS).join(", ")}
			{others > 0 && ` and ${integer(others)} more`}
		</p>
	);
}

type ProgressProps = NonNullable<LocalModel["progress"]> & { name: string };

function Progress({ name, done, total, per_second, seconds_left }: ProgressProps) {
	const speed = per_second > 0 ? `, ${bytes(per_second)}/s` : "";
	const left = seconds_left === undefined ? "" : `, ${timeText(seconds_left)} left`;
	return (
		<Meter
			label={`Download of ${name}`}
			value={Math.min(done, total)}
			max={Math.max(total, 1)}
			customValue={`${bytes(done)} of ${bytes(total)}${speed}${left}`}
		/>
	);
}

const MINUTE_SECONDS = 60;

const timeText = (seconds: number): string =>
	seconds < MINUTE_SECONDS ? `${seconds} s` : `${Math.ceil(seconds / MINUTE_SECONDS)} min`;
