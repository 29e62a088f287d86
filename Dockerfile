# Dundun in a container: `docker build -t dundun .`, then `docker run -p 8080:8080 -p 1883:1883 -v dundun:/data dundun`.
# docs/deployment.md has the rest. The version is the one that package.json names, held by a test.
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /dundun
COPY package.json package-lock.json ./
# Before the source comes, so that a change of it does not install everything anew.
RUN npm ci --ignore-scripts
COPY . .
# The Node.js that npm brings along is not needed: the image has one.
RUN npm run prepare && npm prune --omit=dev --omit=optional --ignore-scripts

FROM node:${NODE_VERSION}-bookworm-slim
LABEL org.opencontainers.image.title="Dundun" \
      org.opencontainers.image.description="Self-hosted device data service: an acknowledgement means stored." \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /dundun
COPY --from=build /dundun/package.json /dundun/LICENSE ./
COPY --from=build /dundun/node_modules ./node_modules
COPY --from=build /dundun/bin ./bin
COPY --from=build /dundun/src ./src
COPY --from=build /dundun/dashboard/dist ./dashboard/dist
# The compiler's results, so that no start has to compile: the root of a running container is read only.
RUN node bin/dundun.js config > /dev/null \
 && mkdir /data && chown node:node /data
ENV DUNDUN_DATA_DIR=/data
USER node
VOLUME /data
EXPOSE 8080 1883 8883
# Alive, not ready: a server that refuses for want of space must not be killed for it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/health/live').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# SIGTERM stops it in order: give it 30 seconds.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "bin/dundun.js"]
CMD ["serve"]
