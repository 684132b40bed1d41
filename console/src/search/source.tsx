import { Button } from "@cloudflare/kumo/components/button";
import { useEffect, useState } from "react";
import { errorOf } from "../api/error-of.ts";
import type { SearchInstance, SearchJob, SearchJobLog } from "../api/types.ts";
import { useFollowing } from "../api/use-following.ts";
import { useLoad } from "../api/use-load.ts";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/failure.tsx";
import { instant } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Section } from "../parts/page.tsx";
import { useSession } from "../session/session.ts";

const TYPES: Readonly<Record<string, string>> = { r2: "R2 bucket", "web-crawler": "Website" };
const PER_PAGE = 50;
/** `message_type` of an error. */
const ERROR = 1;

interface Props {
	instance: SearchInstance;
	/** Of the instance. */
	path: string;
	onChanged(): void;
}

/** The source of an instance, or its uploads: the last job with its errors, a button that starts one, and one that cancels it. */
export function Source({ instance, path, onChanged }: Props) {
	const { api } = useSession();
	const hasSource = instance.type !== null;
	const [error, setError] = useState<Error>();
	const jobs = useLoad(
		async (signal) => (await api.get<SearchJob[]>(`${path}/jobs`, { per_page: 1 }, signal)).result,
		[api, path],
	);
	const last = jobs.value?.[0];
	const running = last?.ended_at === undefined ? last : undefined;
	useFollowing(running !== undefined, jobs);
	// A job adds items while it runs, and its last state follows them.
	useEffect(() => {
		if (last) onChanged();
	}, [last, onChanged]);

	async function send(method: "POST" | "PATCH", jobPath: string, body: object): Promise<void> {
		setError(undefined);
		try {
			await api.send(method, `${path}/${jobPath}`, body);
			jobs.reload();
			onChanged();
		} catch (failure) {
			setError(errorOf(failure));
		}
	}

	return (
		<Section
			title={hasSource ? "Source" : "Jobs"}
			actions={
				running ? (
					<Button size="sm" onClick={() => void send("PATCH", `jobs/${running.id}`, { action: "cancel" })}>
						Cancel the job
					</Button>
				) : (
					<Button size="sm" onClick={() => void send("POST", "jobs", {})}>
						{hasSource ? "Read now" : "Index all again"}
					</Button>
				)
			}
		>
			{error && <Failure error={error} />}
			<Loading of={jobs}>
				{() => (
					<>
						<Facts
							rows={[
								[TYPES[instance.type ?? ""] ?? "Source", instance.source ?? undefined],
								["Read every", hasSource ? `${instance.sync_interval / 60} minutes` : undefined],
								["Last job", last ? stateOf(last) : "none"],
								["Started", last && instant(last.started_at)],
							]}
						/>
						{last && <JobErrors job={last} path={path} />}
					</>
				)}
			</Loading>
		</Section>
	);
}

const stateOf = ({ ended_at, end_reason }: SearchJob): string =>
	ended_at === undefined ? "running" : (end_reason ?? "completed");

function JobErrors({ job, path }: { job: SearchJob; path: string }) {
	const { api } = useSession();
	const logs = useLoad(
		async (signal) =>
			(await api.get<SearchJobLog[]>(`${path}/jobs/${job.id}/logs`, { per_page: PER_PAGE }, signal)).result,
		[api, path, job.id, job.ended_at],
	);
	const errors = (logs.value ?? []).filter(({ message_type: type }) => type === ERROR);
	if (errors.length === 0) return null;
	return (
		<ul className="plain refused" aria-label="Errors of the job">
			{errors.map(({ id, message }) => (
				<li key={id}>{message}</li>
			))}
		</ul>
	);
}
