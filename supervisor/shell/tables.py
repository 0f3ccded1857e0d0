"""Programs with sub-commands, as a table: which only ask or build, and what the others put at risk.

A line is ``programs | category | what it does | sub-commands``, where the category ``ok`` is no risk. A
sub-command may have several words, joined by ``+``; the longest that fits counts. One that is not in the
table is unclear.
"""

from msgspec import Struct


class Verb(Struct, frozen=True):
    """What a sub-command puts at risk; the category ``ok`` is nothing."""

    category: str
    words: str


TABLE = """
git | ok | | status diff log show blame shortlog describe rev-parse rev-list ls-files ls-tree
    ls-remote cat-file grep branch tag add commit init fetch pull clone checkout switch merge mv
    stash worktree bisect cherry-pick revert rebase apply am format-patch archive notes reflog
    remote config whatchanged merge-base name-rev for-each-ref count-objects fsck help version
    range-diff show-ref var check-ignore diff-tree cherry restore reset rm submodule
    sparse-checkout lfs symbolic-ref bundle difftool mergetool check-attr verify-commit annotate
git | delete | throws away what git keeps | clean filter-branch filter-repo gc prune update-ref
    replace
git | publish | publishes commits | push send-pack send-email request-pull
git | config | changes how git works | credential daemon svn
gh | ok | | pr+list pr+view pr+diff pr+checks pr+status pr+checkout issue+list issue+view
    issue+status repo+view repo+list repo+clone run+list run+view run+watch release+list
    release+view auth+status status search browse workflow+list workflow+view label+list gist+list
    gist+view help version cache+list
gh | publish | publishes on GitHub | release pr+create pr+merge pr+close pr+comment pr+review
    pr+edit pr+ready pr+reopen issue+create issue+close issue+comment issue+edit repo+create
    repo+fork repo+edit repo+sync gist+create workflow+run run+rerun run+cancel
gh | delete | deletes on GitHub | repo+delete release+delete issue+delete gist+delete repo+archive
    cache+delete run+delete
gh | credentials | handles GitHub's secrets | auth secret ssh-key gpg-key variable
gh | network | sends a request to GitHub | api
glab | ok | | mr+list mr+view issue+list issue+view ci+status ci+view ci+list repo+view
glab | publish | publishes on GitLab | mr issue release repo ci
npm,pnpm,yarn,bun | ok | | test t tst run run-script start stop build lint ls list ll view info
    show outdated audit help version ci why explain fund prefix root bin config pack doctor search
    ping whoami format check dev typecheck tsc jest vitest install-ci-test dedupe prune rebuild
    workspace workspaces exec x dlx create init node install i add remove uninstall update upgrade
    store import dist
npm,pnpm,yarn,bun | publish | publishes a package | publish unpublish deprecate dist-tag owner
    access
npm,pnpm,yarn,bun | credentials | handles the registry's secrets | login logout adduser token
    profile
npm,pnpm,yarn,bun | install | links programs into the machine | link unlink global+add
pip,pip3,pipx | ok | | list show freeze check help debug inspect index search hash
pip,pip3,pipx | install | installs packages | install download wheel run inject ensurepath runpip
pip,pip3,pipx | delete | removes packages | uninstall cache uninstall-all
pip,pip3,pipx | config | changes how packages are fetched | config upgrade reinstall upgrade-all
    reinstall-all
uv | ok | | sync lock tree venv version help run build export pip+list pip+show pip+freeze
    pip+check python+list pip+compile pip+tree python+find pip+sync tool+list
uv | install | installs packages | add pip+install tool+install tool+run python+install
    tool+upgrade self
uv | delete | removes packages | remove pip+uninstall tool+uninstall cache python+uninstall
uv | publish | publishes a package | publish
uv | config | changes files of the project | init
poetry,pdm,hatch,rye,pipenv | ok | | install lock show check run build shell env version help list
    test sync graph fmt tree verify lock-check init new about search requirements
poetry,pdm,hatch,rye,pipenv | install | installs packages | add update self source plugin
poetry,pdm,hatch,rye,pipenv | delete | removes packages | remove uninstall cache
poetry,pdm,hatch,rye,pipenv | publish | publishes a package | publish
poetry,pdm,hatch,rye,pipenv | config | changes settings, maybe secrets | config
conda,mamba,micromamba | ok | | list info search env activate run config env+list
conda,mamba,micromamba | install | installs packages | install update create upgrade env+create
    env+update
conda,mamba,micromamba | delete | removes packages | remove uninstall clean env+remove
twine,flit | ok | | check build
twine,flit | publish | publishes a package | upload register publish
cargo | ok | | build b check c test t run r bench doc clippy fmt tree metadata clean fetch vendor
    new init search version help nextest expand audit deny outdated update generate-lockfile
    verify-project llvm-cov miri
cargo | install | installs programs | install add
cargo | delete | removes packages | uninstall remove rm
cargo | publish | publishes a package | publish yank owner
cargo | credentials | handles the registry's secrets | login logout
rustup | ok | | show toolchain+list target+list component+list which doc check
rustup | install | installs programs | default update install toolchain+install target+add
    component+add self override
go | ok | | build test run vet fmt doc list env version help tool generate clean work mod+tidy
    mod+download mod+graph mod+init mod+verify mod+why mod+edit mod+vendor
go | install | installs programs | install get
dotnet | ok | | build test run restore list format clean new sln info help watch
dotnet | install | installs packages | add tool workload
dotnet | publish | publishes a package | nuget publish
gem | ok | | list search env help build info contents which specification
gem | install | installs packages | install update
gem | delete | removes packages | uninstall cleanup
gem | publish | publishes a package | push yank owner signin
bundle,bundler | ok | | install exec check list show outdated info config lock help
bundle,bundler | install | installs packages | add update
composer | ok | | install show validate outdated dump-autoload test run-script diagnose
    check-platform-reqs why audit exec
composer | install | installs packages | require update global create-project
composer | delete | removes packages | remove
mix | ok | | test compile format deps.get credo dialyzer run help
mix | publish | publishes a package | hex.publish
apt,apt-get,apt-cache,aptitude | ok | | list search show policy depends rdepends madison showpkg
    help changelog
apt,apt-get,apt-cache,aptitude | install | installs programs for the machine | install update
    upgrade dist-upgrade full-upgrade download build-dep source edit-sources reinstall
apt,apt-get,apt-cache,aptitude | delete | removes programs from the machine | remove purge
    autoremove autoclean clean
brew,port,nix,choco,scoop,winget | ok | | list info search outdated doctor config deps leaves home
    services+list
brew,port,nix,choco,scoop,winget | install | installs programs for the machine | install upgrade
    update tap reinstall bundle build run shell develop profile selfupdate
brew,port,nix,choco,scoop,winget | delete | removes programs from the machine | uninstall remove
    cleanup untap autoremove
brew,port,nix,choco,scoop,winget | system | controls services | services
yum,dnf,zypper,apk,microdnf | ok | | list search info repolist provides check-update
yum,dnf,zypper,apk,microdnf | install | installs programs for the machine | install update upgrade
    add localinstall groupinstall
yum,dnf,zypper,apk,microdnf | delete | removes programs from the machine | remove erase del
    autoremove clean
snap,flatpak | ok | | list info find search
snap,flatpak | install | installs programs for the machine | install refresh update
snap,flatpak | delete | removes programs from the machine | remove uninstall
docker,podman,nerdctl | ok | | ps images logs build version info inspect stats top port diff
    history search events compose+ps compose+logs compose+config compose+build compose+up
    compose+images compose+top image+ls image+inspect container+ls container+inspect
    container+logs volume+ls volume+inspect network+ls network+inspect system+df system+info
    buildx+build buildx+ls context+ls compose+version compose+pull manifest+inspect pull
    compose+start compose+ls
docker,podman,nerdctl | publish | publishes an image | push compose+push image+push manifest+push
    buildx+bake tag
docker,podman,nerdctl | delete | deletes containers, images or volumes | rm rmi system+prune
    volume+rm volume+prune image+prune image+rm container+prune container+rm network+rm
    network+prune compose+down compose+rm builder+prune buildx+prune
docker,podman,nerdctl | system | runs or controls containers | run exec start stop restart kill
    pause unpause create cp commit update rename attach load import export save wait swarm service
    stack node secret plugin compose+run compose+exec compose+stop compose+restart compose+kill
    container volume+create network+create context machine network+connect
docker,podman,nerdctl | credentials | handles a registry's secrets | login logout
docker-compose | ok | | ps logs config build up images top version pull start ls
docker-compose | delete | deletes containers or volumes | down rm
docker-compose | system | runs or controls containers | run exec stop restart kill
docker-compose | publish | publishes an image | push
kubectl,oc | ok | | get describe logs top explain version api-resources api-versions cluster-info
    diff config+view config+get-contexts config+current-context auth+can-i rollout+status
    rollout+history kustomize
kubectl,oc | delete | deletes in a cluster | delete drain config+delete-context
kubectl,oc | system | changes a cluster | apply create edit patch replace scale set label annotate
    run expose exec cp rollout cordon uncordon taint autoscale port-forward proxy attach debug
    config+use-context config+set-context config+set config
helm | ok | | list ls status get history show search template lint version env repo
    dependency+build repo+list
helm | system | changes a cluster | install upgrade rollback repo+add
helm | delete | deletes in a cluster | uninstall delete
helm | publish | publishes a chart | push
terraform,tofu,terragrunt,pulumi,cdk | ok | | plan validate fmt show version providers graph init
    output console get preview synth diff ls state+list state+show workspace+list workspace+show
    stack+ls list
terraform,tofu,terragrunt,pulumi,cdk | delete | destroys what was built | destroy state+rm
    workspace+delete stack+rm state
terraform,tofu,terragrunt,pulumi,cdk | publish | changes what is built, which may cost money |
    apply up import taint untaint deploy refresh bootstrap
terraform,tofu,terragrunt,pulumi,cdk | credentials | handles secrets | login logout config
systemctl | ok | | status list-units list-unit-files list-timers is-active is-enabled is-failed
    show cat help list-dependencies
systemctl | system | controls services | start stop restart reload enable disable mask unmask
    daemon-reload kill isolate set-default edit poweroff reboot halt suspend hibernate rescue
    emergency reset-failed try-restart
ansible,ansible-playbook,ansible-galaxy,salt,puppet,chef | system | configures other machines | *
heroku,vercel,netlify,fly,flyctl,railway,firebase,wrangler,render,surge | ok | | help version logs
    status whoami list ls apps dev apps+list apps:list emulators:start functions:log
heroku,vercel,netlify,fly,flyctl,railway,firebase,wrangler,render,surge | publish | publishes or
    changes what runs | *
serverless,sls,eb,copilot,sam,gcloud-builds | publish | publishes or changes what runs | *
gradle,gradlew,mvn,mvnw,ant,sbt,lein,bazel,buck,pants | publish | publishes what it builds |
    publish deploy release upload uploadArchives publishToMavenLocal release:perform
    deploy:deploy-file release:prepare
gradle,gradlew,mvn,mvnw,ant,sbt,lein,bazel,buck,pants | ok | | *
jupyter | ok | | nbconvert kernelspec troubleshoot execute trust migrate
jupyter | network | opens a server for other machines | notebook lab server console
nvm,pyenv,rbenv,nodenv,asdf,mise,sdk,volta,fnm | ok | | list ls ls-remote versions version current which
    use local shell install-list alias default
nvm,pyenv,rbenv,nodenv,asdf,mise,sdk,volta,fnm | install | installs programs | install uninstall global add
    plugin update
prisma,sequelize,knex,typeorm,drizzle-kit | ok | | generate validate format init status
prisma,sequelize,knex,typeorm,drizzle-kit | config | changes a database | *
adb | ok | | devices logcat version help
adb | system | controls another device | *
mkdocs,hugo,jekyll | publish | publishes a site | gh-deploy deploy
mkdocs,hugo,jekyll | ok | | build serve new server version doctor list
deno | ok | | test lint fmt check doc info bench types coverage help
deno | code | runs code with deno | run eval task repl compile
deno | install | installs programs | install add upgrade cache
deno | publish | publishes | publish deploy
launchctl | ok | | list print
launchctl | system | controls services | *
defaults | ok | | read
defaults | config | changes the user's settings | *
stripe | ok | | help version status customers+list charges+list products+list balance+retrieve
    events+list logs
stripe | money | moves money | charges payment_intents refunds payouts transfers invoices
    subscriptions checkout trigger
"""


def _rows() -> dict[str, dict[str, Verb]]:
    found: dict[str, dict[str, Verb]] = {}
    for line in TABLE.replace("\n    ", " ").strip().splitlines():
        programs, category, words, verbs = (part.strip() for part in line.split("|"))
        for program in programs.split(","):
            known = found.setdefault(program, {})
            known.update((verb.replace("+", " "), Verb(category, words)) for verb in verbs.split())
    return found


VERBS = _rows()
"""What each sub-command of each program does; ``*`` stands for all others."""
