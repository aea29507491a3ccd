# wellsync as one image: worker, commands and testing server alike. Build: docker build -t wellsync .
# The platform is that of the builder, or amd64 and arm64: docker buildx build --platform linux/amd64,linux/arm64 .

FROM node:24.11.1-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY config ./config
COPY jobs ./jobs
COPY src ./src
# npm keeps the compiler: a package of the console offers to work with it, and none does.
RUN npm run build && npm prune --omit=dev && rm -r node_modules/typescript node_modules/@typescript

FROM node:24.11.1-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/config ./config
RUN ln -s /app/dist/src/cli/main.js /usr/local/bin/wellsync \
  && install --directory --owner=node --group=node /data /files /feed \
  && install --directory --owner=node --group=node --mode=0750 /secrets
# By number, so that Kubernetes can see that it is not root.
USER 1000
ENV WELLSYNC_DATA_DIR=/data
# All that is written lies in /data, /files, /feed and /tmp, but for compiled code in ~/.cache: the rest may be mounted read-only.
VOLUME /data
ENTRYPOINT ["wellsync"]
CMD ["worker"]
