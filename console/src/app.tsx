import { Loader } from "@cloudflare/kumo/components/loader";
import { CSPProvider } from "@cloudflare/kumo/primitives/csp-provider";
import { Suspense, startTransition, useCallback, useEffect, useMemo, useState } from "react";
import { BrowserRouter, Navigate, Route, Routes } from "react-router";
import { Api, ApiError } from "./api/client.ts";
import { ErrorBoundary } from "./parts/error-boundary.tsx";
import { Failure } from "./parts/failure.tsx";
import { lazyPage } from "./parts/lazy-page.ts";
import {
	forgetSession,
	keepSession,
	resumeSession,
	type Session,
	SessionContext,
} from "./session/session.ts";
import { SignIn } from "./session/sign-in.tsx";

// Only the sign-in is part of the first script.
const Shell = lazyPage(() => import("./shell.tsx"));
const Playground = lazyPage(() => import("./pages/playground.tsx"));
const Models = lazyPage(() => import("./pages/models.tsx"));
const Model = lazyPage(() => import("./pages/model.tsx"));
const Usage = lazyPage(() => import("./pages/usage.tsx"));
const Requests = lazyPage(() => import("./pages/requests.tsx"));
const Gateways = lazyPage(() => import("./pages/gateways.tsx"));
const Tokens = lazyPage(() => import("./pages/tokens.tsx"));
const Adapters = lazyPage(() => import("./pages/adapters.tsx"));
const Batches = lazyPage(() => import("./pages/batches.tsx"));
const Replays = lazyPage(() => import("./pages/replays.tsx"));
const Search = lazyPage(() => import("./pages/search.tsx"));
const Vectors = lazyPage(() => import("./pages/vectors.tsx"));
const Engines = lazyPage(() => import("./pages/engines.tsx"));
const LocalModels = lazyPage(() => import("./pages/local-models.tsx"));

type State =
	| { kind: "loading" }
	| { kind: "out"; notice?: string }
	/** The gateway does not answer. The token is kept. */
	| { kind: "failed"; error: Error }
	| { kind: "in"; session: Session };

const ENDED = "The gateway no longer accepts the token. Sign in again.";

/** The policy of the page allows no inline styles, which the library would insert. */
export const App = () => (
	<CSPProvider disableStyleElements>
		<ErrorBoundary top>
			<Suspense fallback={<Waiting />}>
				<Console />
			</Suspense>
		</ErrorBoundary>
	</CSPProvider>
);

function Console() {
	const [state, setState] = useState<State>({ kind: "loading" });

	const enter = useCallback((session: Session) => {
		keepSession(session);
		// What is shown stays until the scripts of the page are loaded. A fallback would stay for 300 ms after that.
		startTransition(() => setState({ kind: "in", session }));
	}, []);
	const leave = useCallback((notice?: string) => {
		forgetSession();
		setState(notice === undefined ? { kind: "out" } : { kind: "out", notice });
	}, []);

	const resume = useCallback(() => {
		setState({ kind: "loading" });
		resumeSession().then(enter, (error: Error) => {
			if (error instanceof ApiError && error.status === 401) leave();
			else setState({ kind: "failed", error });
		});
	}, [enter, leave]);
	useEffect(resume, [resume]);

	const context = useMemo(
		(): SessionContext | undefined =>
			state.kind !== "in"
				? undefined
				: {
						session: state.session,
						api: new Api(state.session, () => leave(ENDED)),
						setAccount: (account) => enter({ ...state.session, account }),
						signOut: () => leave(),
					},
		[state, enter, leave],
	);

	if (state.kind === "loading") return <Waiting />;
	if (state.kind === "failed")
		return (
			<main className="sign-in">
				<Failure error={state.error} onRetry={resume} />
			</main>
		);
	if (!context) return <SignIn notice={state.kind === "out" ? state.notice : undefined} onSession={enter} />;
	return (
		<SessionContext value={context}>
			<BrowserRouter basename="/console">
				<Routes>
					<Route element={<Shell />}>
						<Route index element={<Navigate to="/playground" replace />} />
						<Route path="playground/*" element={<Playground />} />
						<Route path="models" element={<Models />} />
						<Route path="models/*" element={<Model />} />
						<Route path="usage" element={<Usage />} />
						<Route path="requests" element={<Requests />} />
						<Route path="gateways" element={<Gateways />} />
						<Route path="tokens" element={<Tokens />} />
						<Route path="adapters" element={<Adapters />} />
						<Route path="batches" element={<Batches />} />
						<Route path="replays" element={<Replays />} />
						<Route path="search" element={<Search />} />
						<Route path="vectors" element={<Vectors />} />
						<Route path="engines" element={<Engines />} />
						<Route path="local-models" element={<LocalModels />} />
						<Route path="*" element={<Navigate to="/playground" replace />} />
					</Route>
				</Routes>
			</BrowserRouter>
		</SessionContext>
	);
}

const Waiting = () => (
	<div className="waiting" role="status" aria-label="Loading">
		<Loader />
	</div>
);
