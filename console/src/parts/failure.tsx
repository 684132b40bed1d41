import { Banner } from "@cloudflare/kumo/components/banner";
import { ApiError } from "../api/client.ts";

export function Failure({ error }: { error: Error }) {
	const hint =
		error instanceof ApiError && error.status === 403
			? " The token of this session lacks the permission."
			: "";
	return (
		<div role="alert">
			<Banner variant="error" description={`${error.message}${hint}`} />
		</div>
	);
}
